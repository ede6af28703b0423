"""The blocks of text that the README and docs have on results, in Markdown, each made from the tables."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from analysis.answers import answers, half_rows
from analysis.committed import Committed, read_study
from analysis.evidence import (
    FAMILY,
    Comparison,
    agreement,
    agreement_of_loss,
    bounds,
    budget_learners,
    budget_rows,
    comparisons,
    cost_rows,
    dice_rows,
    expected,
    family_rows,
    forest_scores,
    further_sets,
    reward_rows,
    seed_rows,
    tasks_between,
    versions,
    vw_rows,
)
from analysis.measured import runner_block, scaling_block, speed_block
from analysis.metafeatures import FEATURES
from analysis.paper import (
    BOUNDED_DATASETS,
    BOUNDED_LOSS,
    BOUNDED_WINS,
    CURVES_DATASETS,
    PAPER_F1,
    PAPER_SEEDS,
    TABLE_1,
    TABLE_1_DATASETS,
)
from analysis.section import signed
from analysis.tables import markdown
from analysis.wins import compare, outcome_counts

__all__ = ["blocks"]

STUDIES = ("unbounded", "bounded", "ablation", "details", "capacity", "drift", "search", "explore", "plus")
NOT_MADE = "This study has not been made yet: `make reproduce SUITE=paper`, then `make readme`."
PAPER_STUDIES = ("unbounded", "ablation", "bounded")  # what the paper reports; the others go beyond it
CLOSE_REWARD = 0.02  # rewards that differ by no more agree


def blocks(results: Path) -> dict[str, str]:
    """Return every block by its name, from the committed studies in a folder; what is missing is said.

    Parameters
    ----------
    results : Path
        The folder of all studies, with ``speed.csv``, ``scaling.csv``, ``runner.csv`` and ``fidelity.csv``.
    """
    suites = ((name, folder.name) for name in STUDIES for folder in (results / name).glob("paper*"))
    studies = ((name, read_study(results, name, suite)) for name, suite in suites)
    found = {name: study for name, study in studies if study}
    made = {name: make(found[one]) if one in found else NOT_MADE for name, (one, make) in BLOCKS.items()}
    made |= {name: _pictures(found.get(one), results, *names) for name, (one, *names) in PICTURES.items()}
    made |= {"results": _results(found, results), "comparisons": _comparisons(found), "cost": _cost(found, results)}
    made |= {"versions": _versions(found), "answers": answers(found) or NOT_MADE}
    made["speed table"] = speed_block(results / "speed.csv")
    made["scaling"] = scaling_block(results / "scaling.csv")
    made["runner"] = runner_block(results / "runner.csv")
    return {name: _wrapped(text) for name, text in made.items()}


def _wrapped(text: str) -> str:
    """Return a text whose paragraphs and lists are no wider than the house's lines; tables and pictures stay."""

    def wrap(line: str) -> list[str]:
        indent = "  " if line.startswith("- ") else ""
        return textwrap.wrap(line, 119, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)

    return "\n\n".join(
        part if part.startswith(("|", "!")) else "\n".join(row for line in part.splitlines() for row in wrap(line))
        for part in text.split("\n\n")
    )


def _results(found: Mapping[str, Committed], results: Path) -> str:
    """Return the README's results: what the paper says and what came out, the families, and what it took."""
    if "unbounded" not in found:
        return NOT_MADE
    parts = [
        f"{_standing(found['unbounded'])} Beside each number, the paper's; [docs/results.md](docs/results.md) goes "
        "through the paper figure by figure and says where it does not agree, and why.",
        _comparisons(found),
        "Agrees: shares of datasets within five points of the paper's, rewards within .02, a 95% interval (of scores, "
        "and of what memories cost) that holds the paper's. Wins are by the paper's rule of 1.96 standard errors; * "
        f"has fewer than its {PAPER_SEEDS} seeds and goes by Student's t, which then decides fewer datasets.",
        _pictures(found["unbounded"], results, "contrast_pemt_parametric"),
        _figure_sentence(found["unbounded"]),
        _family_sentence(found["unbounded"]),
        _cost(found, results),
    ]
    return "\n\n".join(part for part in parts if part)


def _standing(study: Committed) -> str:
    """Say on how many datasets and seeds a study stands."""
    most = max(study.seeds.values())
    few = ", ".join(f"{n} of {study.cast.label(name)}" for name, n in study.seeds.items() if n < most)
    return (
        f"{study.n_datasets} of the paper's 208 tasks (the others could not be had here), {most} seeds"
        f"{f' ({few})' if few else ''}."
    )


def _comparisons(found: Mapping[str, Committed]) -> str:
    """Return everything that the paper gives a number for, and what came out."""
    rows = [_compared(one, found.get(one.study)) for one in comparisons(found.get("bounded"))]
    return markdown([*rows, *_rewards_beside(found), *_scores_beside(found)]) if found else NOT_MADE


def _compared(one: Comparison, study: Committed | None) -> dict[str, Any]:
    """Return a row: wins and losses here and in the paper, and whether they agree."""
    row = {"claim": one.text, "here": "not made yet", "paper": _counted(one.wins, one.losses, one.datasets)}
    if study is None or not {one.first, one.second} <= study.cast.members.keys():
        return row | {"agrees": "", "seeds": ""}
    ours = study.counts(one.first, one.second)
    enough, counts = ours["seeds"] >= PAPER_SEEDS, (ours["wins"], ours["losses"], ours["datasets"])
    row["here"] = _counted(*counts) + ("" if enough else "*")
    return row | {"agrees": agreement(counts, one) if enough else "too few seeds", "seeds": str(ours["seeds"])}


def _counted(wins: int, losses: int | None, datasets: int) -> str:
    if losses is None:
        return f"{wins} wins of {datasets} ({wins / datasets:.0%})"
    return f"{wins} wins, {losses} losses of {datasets} ({wins / datasets:.0%}, {losses / datasets:.0%})"


def _rewards_beside(found: Mapping[str, Committed]) -> list[dict[str, Any]]:
    """Return the rows of rewards, and of what a budget costs."""
    rows = []
    if "unbounded" in found and (rewards := reward_rows(found["unbounded"])):
        names = ", ".join(row["learner"] for row in rewards)
        text = f"Reward at 4,000 steps ({rewards[0]['datasets']} datasets; paper {CURVES_DATASETS}): {names}"
        here, paper = ([row[side] for row in rewards] for side in ("here", "paper"))
        near = all(abs(one - other) <= CLOSE_REWARD for one, other in zip(here, paper, strict=True))
        rows.append(_beside(text, here, paper, 3, "yes" if near else "no"))
    sized = budget_learners(found.get("bounded"))
    if len(sized) > 1:
        lost = found["bounded"].counts(sized[max(sized)], sized[min(sized)])
        agrees = agreement_of_loss(lost["mean"], lost["se"])
        rows.append(_beside(f"Reward that {min(sized):,} memories cost", [lost["mean"]], [BOUNDED_LOSS], 4, agrees))
    return rows


def _scores_beside(found: Mapping[str, Committed]) -> list[dict[str, Any]]:
    """Return the row of the forest's scores."""
    scores = {row["model"]: row for row in forest_scores(found["unbounded"])} if "unbounded" in found else {}
    if not scores:
        return []
    ours = [scores[model] for model in PAPER_F1]
    held = all(row["low"] <= row["paper"] <= row["high"] for row in ours)
    text = "A forest tells where EMT wins (macro F1: 12 features, 3)"
    return [_beside(text, [row["macro F1"] for row in ours], list(PAPER_F1.values()), 2, "yes" if held else "no")]


def _beside(text: str, here: list[float], paper: list[float], digits: int, agrees: str) -> dict[str, Any]:
    ours, theirs = (", ".join(f"{value:.{digits}f}".lstrip("0") for value in side) for side in (here, paper))
    return {"claim": text, "here": ours, "paper": theirs, "agrees": agrees, "seeds": ""}


def _figure_sentence(study: Committed) -> str:
    ours = outcome_counts(compare(study.finals, "pemt", "parametric"))
    return (
        f"The figure and the reports go by Student's t of the seeds: {ours['wins']} wins, {ours['ties']} ties, "
        f"{ours['losses']} losses."
    )


def _family_sentence(study: Committed) -> str:
    inside = study.counts("pemt", "parametric", study.among("family", FAMILY))
    outside = study.counts("pemt", "parametric", study.among("family", but=FAMILY))
    if not inside["datasets"] or not outside["datasets"]:
        return ""
    return (
        f"*By family.* PEMT beats parametric on {inside['wins']} of the {inside['datasets']} {FAMILY} sets "
        f"({inside['wins'] / inside['datasets']:.0%}; drawn from Bayesian networks that were fitted to small sets) and "
        f"on {outside['wins']} of the {outside['datasets']} others ({outside['wins'] / outside['datasets']:.0%}), and "
        f"loses on {inside['losses']} and {outside['losses']}."
    )


def _cost(found: Mapping[str, Committed], results: Path) -> str:
    """Return what each study took."""
    if not found:
        return NOT_MADE
    return "\n\n".join([markdown(cost_rows(list(found.values()), results.parent)), *_whole_cost(found)])


def _whole_cost(found: Mapping[str, Committed]) -> list[str]:
    """Return a sentence on what the paper's own studies take with all of its tasks, where it is known."""
    speeds = {name: found[name].table("speed.csv") for name in PAPER_STUDIES if name in found}
    hours = {name: table["whole_core_hours"].sum() for name, table in speeds.items() if len(table)}
    if not hours:
        return []
    parts = ", ".join(f"{name} {value:.2f}" for name, value in hours.items())
    return [
        "With all 208 tasks, at what those here took, the paper's own studies are "
        f"{sum(hours.values()):.1f} core-hours: {parts}."
    ]


def _pictures(study: Committed | None, results: Path, *names: str) -> str:
    """Return those of a study's figures that are there."""
    paths = [study.folder / "figures" / f"{name}.png" for name in names] if study else []
    links = [path.relative_to(results.parent).as_posix() for path in paths if path.exists()]
    return "\n\n".join(f"![{Path(link).stem.replace('_', ' ')}]({link})" for link in links)


def _table_1(study: Committed) -> str:
    """Return Table 1: wins and their share of the datasets, in brackets the paper's."""
    wins = {(row, column): study.counts(row, column) for row in TABLE_1 for column in TABLE_1 if row != column}
    rows = []
    for row in TABLE_1:
        rows.append({"": study.cast.label(row)})
        for column in TABLE_1:
            known = row != column and wins[row, column]["datasets"]
            rows[-1] |= {study.cast.label(column): _cell(wins[row, column], TABLE_1[row][column]) if known else "—"}
    best = [
        column
        for column in TABLE_1
        if column != "pemt"
        and wins["pemt", column]["wins"] == max(one["wins"] for pair, one in wins.items() if pair[1] == column)
    ]
    told = (
        f"{_standing(study)} Wins of the row against the column and their share of the datasets, in brackets the "
        f"paper's of {TABLE_1_DATASETS}; * has fewer than {PAPER_SEEDS} seeds and goes by Student's t. PEMT has the "
        f"most wins in {len(best)} of its {len(TABLE_1) - 1} columns; in the paper, in all."
    )
    return f"{told}\n\n{markdown(rows)}"


def _cell(ours: Mapping[str, Any], published: int) -> str:
    mark = "" if ours["seeds"] >= PAPER_SEEDS else "*"
    here = f"{ours['wins']}, {ours['wins'] / ours['datasets']:.0%}{mark}"
    return f"{here} ({published}, {published / TABLE_1_DATASETS:.0%})"


def _families(study: Committed) -> str:
    """Return the pairs of models with and without a memory by family."""
    return markdown(family_rows(study, [("pemt", "parametric"), ("pcmt", "parametric"), ("pemt", "pcmt")]))


def _bounds(study: Committed) -> str:
    """Return what the paper's further datasets are likely to be and to change in Table 1, and what they can at most."""
    rows, (missing, between) = bounds(study), tasks_between(study)
    if not rows:
        return NOT_MADE
    lengths = [
        {key: row[key] for key in ("rows", "paper", "here", "further")} | {f"here, not {FAMILY}": len(row["alike"])}
        for row in further_sets(study)
    ]
    most, *others = sorted(rows, key=lambda row: -row["apart"])
    told = (
        "How long the further datasets are follows from the paper's own counts (206, of which 168 have 4,000 "
        f"interactions and 116 have 32,000). OpenML numbers the tasks of a family in a row, and of the {missing} tasks "
        f"that are missing {between} is between two {FAMILY} tasks: so hardly any is a {FAMILY} set."
    )
    close = (
        f"*Expected*: if the further ones come out as those here that are as long and not {FAMILY} sets. Then the "
        f"shares of {len(others)} of the {len(rows)} pairs are at most {others[0]['apart']:.1f} points from the "
        f"paper's, and that of {most['pair']} is {most['apart']:.1f} points from it."
    )
    table = [{key: value for key, value in row.items() if key != "apart"} for row in rows]
    return "\n\n".join([told, markdown(lengths), close, markdown(table)])


def _budgets(study: Committed) -> str:
    """Return what budgets cost, whether it matters what is forgotten, and the families."""
    lru, fifo = budget_learners(study), budget_learners(study, "fifo")
    if not lru:
        return NOT_MADE
    parts = [markdown(budget_rows(study))]
    for budget in sorted(lru.keys() & fifo.keys()):
        ours = study.counts(lru[budget], fifo[budget])
        parts += [
            f"With {budget:,} memories, to forget the least recently used against the oldest: {ours['wins']} wins, "
            f"{ours['ties']} ties, {ours['losses']} losses on {ours['datasets']} datasets ({ours['seeds']} seeds), "
            f"mean difference {signed(ours['mean'])}."
        ]
    parts += [_expected_budgets(study, [learners[min(learners)] for learners in (lru, fifo) if learners])]
    names = dict.fromkeys([lru[min(lru)], *(fifo[size] for size in sorted(fifo)), lru[max(lru)]])
    parts += [markdown(family_rows(study, [(name, "parametric") for name in names]))]
    return "\n\n".join(parts)


def _expected_budgets(study: Committed, smallest: list[str]) -> str:
    """Return what the smallest budgets would come out at on the paper's datasets, beside what it published."""
    sized, told = budget_learners(study), []
    for name in smallest:
        versus, loss = expected(study, name, "parametric"), expected(study, sized[max(sized)], name)
        share = versus["wins"] / versus["datasets"]
        told.append(f"{study.cast.label(name)}: {share:.0%} wins over parametric, {loss['mean']:.4f} lost")
    return (
        f"Expected on the paper's {BOUNDED_DATASETS} datasets, if its further ones are like those here that are not "
        f"{FAMILY} sets: {'; '.join(told)}. The paper: {BOUNDED_WINS / BOUNDED_DATASETS:.0%} and {BOUNDED_LOSS}."
    )


def _budget_seeds(study: Committed) -> str:
    """Return the smallest budgets against the parametric learner with fewer seeds."""
    sized = [learners for learners in (budget_learners(study), budget_learners(study, "fifo")) if learners]
    return markdown(seed_rows(study, [(learners[min(learners)], "parametric") for learners in sized]))


def _forest(study: Committed) -> str:
    """Return the forest's scores, and the features of the compact model."""
    scores, importances = forest_scores(study), study.table("forest_importances.csv")
    if not scores:
        return NOT_MADE
    chosen = importances.sort_values(["chosen", "mean"], ascending=False).head(3)
    said = ", ".join(
        f"{FEATURES[name]} ({share:.0%})" for name, share in zip(chosen["feature"], chosen["chosen"], strict=True)
    )
    return f"{markdown(scores)}\n\nThe compact model chose most often: {said}."


def _ablation(study: Committed) -> str:
    """Return the ablation's pairs."""
    others = ("emt_not_self_consistent", "emt_as_printed", "emt_random_router")
    return _pairs(study, *(("emt", name) for name in others), ("pemt", "pemt_as_printed"))


def _beyond(study: Committed) -> str:
    """Return PEMT+ against the learners of the paper."""
    return _pairs(study, *(("pemt_plus", name) for name in ("pemt", "pcmt", "parametric", "emt", "cmt")))


def _pairs(study: Committed, *pairs: tuple[str, str]) -> str:
    rows = []
    for first, second in pairs:
        ours = study.counts(first, second)
        if ours["datasets"]:
            rows.append({"pair": f"{study.cast.label(first)} : {study.cast.label(second)}"})
            rows[-1] |= {key: ours[key] for key in ("wins", "ties", "losses", "datasets", "seeds")}
            rows[-1] |= {"mean difference": signed(ours["mean"])}
    return markdown(rows)


def _versions(found: Mapping[str, Committed]) -> str:
    """Return what made the studies, those together that the same code, packages and machine made."""
    table = versions(list(found.values()))
    if table.empty:
        return "The committed tables do not say what made them."
    same = [name for name in table if name != "study"]
    return markdown(table.groupby(same, sort=False, dropna=False)["study"].agg(", ".join).reset_index())


# name of the block: the study that it is made from, and what makes it
BLOCKS: dict[str, tuple[str, Callable[[Committed], str]]] = {
    "table 1": ("unbounded", _table_1),
    "bounds": ("unbounded", _bounds),
    "families": ("unbounded", _families),
    "dice": ("unbounded", lambda study: markdown(dice_rows(study))),
    "seeds": ("unbounded", lambda study: markdown(seed_rows(study, [("pemt", "parametric"), ("pcmt", "parametric")]))),
    "vw": ("unbounded", lambda study: markdown(vw_rows(study))),
    "rewards": ("unbounded", lambda study: markdown(reward_rows(study))),
    "forest": ("unbounded", _forest),
    "budgets": ("bounded", _budgets),
    "budget seeds": ("bounded", _budget_seeds),
    "ablation": ("ablation", _ablation),
    "beyond": ("unbounded", _beyond),
    "halves": ("unbounded", lambda study: markdown(half_rows(study))),
}
# name of the block: the study, and the names of its figures
PICTURES = {
    "self-consistency": ("unbounded", "contrast_emt_emt_not_self_consistent", "curves_self_consistency"),
    "emt over time": ("unbounded", "curves_emt_cmt_parametric", "contrast_emt_parametric", "contrast_emt_cmt"),
    "pemt over time": ("unbounded", "contrast_pemt_parametric", "curves_pemt_pcmt_parametric"),
    "budgets over time": ("bounded", "curves_budgets", "budgets"),
    "importances": ("unbounded", "meta_importances"),
}

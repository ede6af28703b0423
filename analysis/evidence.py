"""What came out beside what the paper says: every number computed from the committed tables, none typed."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.committed import Committed
from analysis.paper import (
    BOUNDED_DATASETS,
    BOUNDED_LOSS,
    BOUNDED_WINS,
    CURVES_DATASETS,
    PAPER_F1,
    PAPER_SEEDS,
    SELF_CONSISTENT_WINS,
    TABLE_1,
    TABLE_1_DATASETS,
    rewards_at_4000,
)
from analysis.section import signed
from analysis.wins import PAPER, Rule, compare
from experiments.cli import compose
from experiments.config import suite

__all__ = [
    "Comparison",
    "agreement",
    "agreement_of_loss",
    "bounds",
    "budget_learners",
    "comparisons",
    "dice_rows",
    "expected",
    "family_rows",
    "forest_scores",
    "further_sets",
    "reward_rows",
    "seed_rows",
    "tasks_between",
    "vw_rows",
]

SHORT, LONG = 4_000, 32_000  # interactions of the paper's two kinds of study
CLOSE = 0.05  # shares of datasets that differ by no more agree
FAMILY = "BNG"  # sets drawn from Bayesian networks: the one family that is large enough to move a share


class Comparison(NamedTuple):
    """A pair of learners that the paper speaks of: the study, the pair, and the wins and losses it published."""

    text: str
    study: str
    first: str
    second: str
    wins: int
    losses: int | None
    datasets: int


def comparisons(bounded: Committed | None) -> list[Comparison]:
    """Return the pairs that the paper speaks of, in its order."""

    def of_table(text: str, first: str, second: str) -> Comparison:
        wins, losses = TABLE_1[first][second], TABLE_1[second][first]
        return Comparison(text, "unbounded", first, second, wins, losses, TABLE_1_DATASETS)

    least = min(budget_learners(bounded), default=0)
    small = budget_learners(bounded).get(least, "")
    return [
        Comparison(
            "Self-consistency helps",
            "unbounded",
            "emt",
            "emt_not_self_consistent",
            SELF_CONSISTENT_WINS,
            None,
            TABLE_1_DATASETS,
        ),
        of_table("EMT against CMT", "emt", "cmt"),
        of_table("EMT against parametric", "emt", "parametric"),
        of_table("PEMT against parametric", "pemt", "parametric"),
        of_table("PEMT against EMT", "pemt", "emt"),
        of_table("PEMT against PCMT", "pemt", "pcmt"),
        of_table("PCMT against parametric", "pcmt", "parametric"),
        Comparison(
            "PEMT with 1,000 memories against parametric, 32,000 steps",
            "bounded",
            small,
            "parametric",
            BOUNDED_WINS,
            None,
            BOUNDED_DATASETS,
        ),
    ]


def budget_learners(bounded: Committed | None, eviction: str = "lru") -> dict[int, str]:
    """Return the learners with a budget of a study, by how many memories they may keep."""
    if bounded is None:
        return {}
    names = [name for family in bounded.cast.budgets() for name in family]
    ours = [name for name in names if bounded.cast.value(name, "eviction") == eviction]
    return {int(bounded.cast.value(name, "budget")): name for name in ours if bounded.cast.value(name, "budget")}


def agreement(here: tuple[int, int, int], paper: Comparison) -> str:
    """Say whether wins, losses and datasets here agree with the paper's.

    Examples
    --------
    >>> pemt = Comparison("", "unbounded", "pemt", "parametric", 110, 8, 206)
    >>> agreement((85, 4, 165), pemt), agreement((75, 4, 165), pemt), agreement((4, 75, 165), pemt)
    ('yes', 'in direction', 'no')
    """
    wins, losses, datasets = here
    published = paper.losses if paper.losses is not None else paper.datasets - paper.wins
    shares = [(wins / datasets, paper.wins / paper.datasets)]
    shares += [(losses / datasets, paper.losses / paper.datasets)] if paper.losses is not None else []
    if all(abs(ours - theirs) <= CLOSE for ours, theirs in shares):
        return "yes"
    same = (wins > losses) == (paper.wins > published) or (paper.losses is None and wins > losses)
    return "in direction" if same else "no"


def agreement_of_loss(mean: float, se: float) -> str:
    """Say whether the reward that a budget costs, with its standard error over datasets, agrees with the paper's.

    Examples
    --------
    >>> agreement_of_loss(0.0065, 0.001), agreement_of_loss(0.004, 0.001), agreement_of_loss(-0.004, 0.001)
    ('yes', 'in direction', 'no')
    """
    if abs(mean - BOUNDED_LOSS) <= 1.96 * se:
        return "yes"
    return "in direction" if mean > 0 else "no"


def family_rows(study: Committed, pairs: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Count wins and losses of pairs on all datasets, by family and by how the datasets came here."""
    parts = {"all": study.finals, FAMILY: study.among("family", FAMILY)}
    parts |= {f"not {FAMILY}": study.among("family", but=FAMILY)}
    groups = [str(group) for group in dict.fromkeys(study.datasets["group"])]
    parts |= {group: study.among("group", group) for group in sorted(groups)} if len(groups) > 1 else {}
    rows = []
    for first, second in pairs:
        for name, finals in parts.items():
            ours = study.counts(first, second, finals)
            if ours["datasets"]:
                rows.append({"pair": f"{study.cast.label(first)} : {study.cast.label(second)}", "datasets": name})
                rows[-1] |= {"of": ours["datasets"], "wins": _share(ours["wins"], ours["datasets"])}
                rows[-1] |= {"losses": _share(ours["losses"], ours["datasets"]), "mean difference": ours["mean"]}
    return rows


def bounds(study: Committed) -> list[dict[str, Any]]:
    """Say, for each pair of Table 1, what the tasks that are missing here are likely to change, and at most.

    Returns
    -------
    list of dict
        Keys pair, here (wins, and their share), expected (the same of the paper's datasets, if its further ones are
        like those here of their length), paper (wins of 206), apart (how many points the shares expected and published
        are apart), least and most (the share of all tasks, if no or every further one is a win), needed (how many of
        the paper's further sets would have to be wins) and possible.
    """
    n_all = len(suite(compose(["suite=paper"])).datasets)
    rows: list[dict[str, Any]] = []
    for first, cells in TABLE_1.items():
        for second, published in cells.items():
            ours = study.counts(first, second)
            if ours["datasets"]:
                further, paper_further = n_all - ours["datasets"], TABLE_1_DATASETS - ours["datasets"]
                needed = published - ours["wins"]
                rows.append({"pair": f"{study.cast.label(first)} over {study.cast.label(second)}"})
                rows[-1] |= {"here": _share(ours["wins"], ours["datasets"])}
                likely = expected(study, first, second)
                share = likely["wins"] / likely["datasets"]
                rows[-1] |= {"expected": f"{likely['wins']:.0f} ({share:.0%})"}
                rows[-1] |= {"paper": _share(published, TABLE_1_DATASETS)}
                rows[-1] |= {"apart": round(100 * abs(share - published / TABLE_1_DATASETS), 1)}
                rows[-1] |= {"least": f"{ours['wins'] / n_all:.0%}", "most": f"{(ours['wins'] + further) / n_all:.0%}"}
                rows[-1] |= {"needed": f"{needed} of {paper_further}"}
                possible = "yes" if 0 <= needed <= paper_further else "no"
                rows[-1] |= {"possible": possible if ours["seeds"] >= PAPER_SEEDS else "too few seeds"}
    return rows


def tasks_between(study: Committed) -> tuple[int, int]:
    """Say how many of the paper's tasks are missing here, and how many of these may be of the family.

    OpenML numbers the tasks of a family one after the other: a missing task whose nearest known tasks on both sides
    are of the family may be of it.
    """
    family = dict(zip(study.datasets["dataset"], study.datasets["family"], strict=True))
    tasks = sorted(int(task) for task in suite(compose(["suite=paper"])).datasets)
    known = [task for task in tasks if f"task-{task}" in family]
    missing = [task for task in tasks if f"task-{task}" not in family]
    places = [bisect(known, task) for task in missing]
    near = [known[place - 1 : place + 1] for place in places if 0 < place < len(known)]
    return len(missing), sum(all(family[f"task-{one}"] == FAMILY for one in pair) for pair in near)


def further_sets(study: Committed) -> list[dict[str, Any]]:
    """Say how long the datasets are that the paper has and this study has not, by the paper's own counts.

    Of its 206 datasets, 168 have 4,000 interactions and 116 have 32,000.

    Returns
    -------
    list of dict
        A row for each length that the study has: rows (in words), paper, here and further (how many datasets), and
        alike: those here that the further ones are taken to be like, of the same length and not of the family.
    """
    published = (TABLE_1_DATASETS - CURVES_DATASETS, CURVES_DATASETS - BOUNDED_DATASETS, BOUNDED_DATASETS)
    words = (f"fewer than {SHORT:,}", f"{SHORT:,} to {LONG - 1:,}", f"{LONG:,} or more")
    found = []
    for place, (text, count) in enumerate(zip(words, published, strict=True)):
        ours = study.datasets[np.digitize(study.datasets["rows"], (SHORT, LONG)) == place]
        if len(ours):
            alike = ours.loc[ours["family"] != FAMILY, "dataset"].tolist()
            found.append({"rows": text, "paper": count, "here": len(ours), "further": count - len(ours)})
            found[-1] |= {"alike": alike}
    return found


def expected(study: Committed, first: str, second: str) -> dict[str, float]:
    """Return what would be counted on the paper's datasets if its further ones were like those here of their length.

    Returns
    -------
    dict
        Keys wins and losses (numbers of datasets), mean (of the differences) and datasets.
    """
    ours = study.counts(first, second)
    total = {"wins": float(ours["wins"]), "losses": float(ours["losses"]), "mean": ours["mean"] * ours["datasets"]}
    datasets = ours["datasets"]
    for row in further_sets(study):
        alike = study.counts(first, second, study.finals[study.finals["dataset"].isin(row["alike"])])
        n = max(alike["datasets"], 1)
        each = {"wins": alike["wins"] / n, "losses": alike["losses"] / n, "mean": alike["mean"]}
        if row["further"]:
            total = {key: value + row["further"] * each[key] for key, value in total.items()}
            datasets += row["further"]
    return total | {"mean": total["mean"] / max(datasets, 1), "datasets": datasets}


def seed_rows(study: Committed, pairs: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return on how many datasets pairs would be won with fewer seeds, by Student's t and by the paper's rule."""
    rows = []
    for first, second in pairs:
        rows.append({"pair": f"{study.cast.label(first)} : {study.cast.label(second)}"})
        for seeds in (3, 10, 20, PAPER_SEEDS):
            few = study.finals[study.finals["seed"] < seeds]
            tables = [compare(few, first, second, rule) for rule in (Rule(), PAPER)]
            wins = [f"{(table['outcome'] == 'win').mean():.0%}" for table in tables]
            rows[-1][f"{seeds} seeds"] = wins[1] if seeds == PAPER_SEEDS else " / ".join(wins)
    return rows


def dice_rows(study: Committed) -> list[dict[str, Any]]:
    """Return pairs of learners that had dice of their own, as in version 0.1, beside the same with the same dice.

    ``own_dice.csv`` beside the studies has the differences of version 0.1, paired by seed: a row a dataset and pair.
    """
    path = study.folder.parent.parent / "own_dice.csv"
    own = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=["first", "second"])
    rows: list[dict[str, Any]] = []
    for first, second in own[["first", "second"]].drop_duplicates().itertuples(index=False):
        part = own[(own["first"] == first) & (own["second"] == second)]
        pair = f"{study.cast.label(first)} : {study.cast.label(second)}"
        for dice, table in (("own", part), ("the same", compare(study.finals, first, second, PAPER))):
            limits = PAPER.limits(table["se"].to_numpy(), table["seeds"].to_numpy())
            wins, losses = int((table["mean"] > limits).sum()), int((table["mean"] < -limits).sum())
            rows.append({"pair": pair, "dice": dice, "wins": _share(wins, len(table))})
            rows[-1] |= {"losses": _share(losses, len(table)), "datasets": len(table)}
            rows[-1] |= {"mean difference": signed(table["mean"].mean()), "mean SE": f"{table['se'].mean():.4f}"}
        rows.append({"pair": pair, "dice": "in the paper", "wins": _share(TABLE_1[first][second], TABLE_1_DATASETS)})
        rows[-1] |= {"losses": _share(TABLE_1[second][first], TABLE_1_DATASETS), "datasets": TABLE_1_DATASETS}
    return rows


def vw_rows(study: Committed) -> list[dict[str, Any]]:
    """Return EMT against CMT, with Vowpal Wabbit's own in the place of either, on the datasets where it was tried.

    ``vw.csv`` beside the studies has the final rewards of VW's, on the rows and with the dice of the study.
    """
    path = study.folder.parent.parent / "vw.csv"
    if not path.exists():
        return []
    tried = pd.read_csv(path)
    finals = pd.concat([study.finals[study.finals["dataset"].isin(tried["dataset"])], tried])
    kinds = tried[["learner", "version"]].drop_duplicates().itertuples(index=False)
    labels = {name: f"VW's {name[3:].upper()} ({version})" for name, version in kinds}
    labels |= {name: study.cast.label(name) for name in ("emt", "cmt")}
    names = dict(zip(study.datasets["dataset"], study.datasets["name"], strict=True))
    rows: dict[str, dict[str, Any]] = {}
    for first, second in (("emt", "cmt"), ("vw_emt", "cmt"), ("emt", "vw_cmt")):
        for row in compare(finals, first, second, PAPER).to_dict("records"):
            shown = rows.setdefault(row["dataset"], {"dataset": names[row["dataset"]], "seeds": row["seeds"]})
            shown[f"{labels[first]} : {labels[second]}"] = f"{row['outcome']}, {signed(row['mean'], row['se'])}"
    return list(rows.values())


def reward_rows(study: Committed) -> list[dict[str, Any]]:
    """Return the mean rewards at 4,000 interactions beside the paper's."""
    return [
        {
            "learner": study.cast.label(str(learner)),
            "here": float(row["reward"]),
            "paper": float(row["paper"]),
            "datasets": int(row["datasets"]),
            "paper's datasets": CURVES_DATASETS,
        }
        for learner, row in rewards_at_4000(study.finals).iterrows()
    ]


def budget_rows(bounded: Committed) -> list[dict[str, Any]]:
    """Return what each budget costs in reward against the largest, and its wins against parametric."""
    rows: list[dict[str, Any]] = []
    sized = budget_learners(bounded)
    largest = sized.get(max(sized, default=0), "")
    for eviction in ("lru", "fifo"):
        for budget, name in sorted(budget_learners(bounded, eviction).items(), reverse=True):
            loss, ours = compare(bounded.finals, largest, name), bounded.counts(name, "parametric")
            rows.append({"memories": budget, "forgets": "least recently used" if eviction == "lru" else "oldest"})
            rows[-1] |= {"loss of reward": loss["mean"].mean(), "its SE": loss["mean"].sem()}
            rows[-1] |= {"wins": _share(ours["wins"], ours["datasets"])}
            rows[-1] |= {"losses": _share(ours["losses"], ours["datasets"]), "datasets": ours["datasets"]}
            rows[-1] |= {"seeds": ours["seeds"]}
    if rows:
        rows.append({"memories": "1,000 in the paper", "forgets": "", "loss of reward": BOUNDED_LOSS, "its SE": None})
        rows[-1] |= {"wins": _share(BOUNDED_WINS, BOUNDED_DATASETS), "losses": "", "datasets": BOUNDED_DATASETS}
        rows[-1] |= {"seeds": PAPER_SEEDS}
    return rows


def forest_scores(study: Committed) -> list[dict[str, Any]]:
    """Return the forest's scores beside the paper's."""
    table = study.table("forest_scores.csv")
    return [
        {"model": str(row["model"]), "macro F1": row["macro_f1"], "low": row["low"], "high": row["high"]}
        | {"paper": PAPER_F1.get(str(row["model"]))}
        for row in table.to_dict("records")
    ]


def cost_rows(studies: Sequence[Committed], root: Path) -> list[dict[str, Any]]:
    """Return what studies took: from their manifests, or from their runs where there is none."""
    rows = []
    for study in studies:
        cost = {
            "runs": len(study.finals),
            "interactions": int(study.finals["n_steps"].sum()),
            "core_hours": study.finals["seconds"].sum() / 3600,
        } | study.manifest.get("cost", {})  # which counts the runs of all stories
        link = (study.folder / "summary.md").relative_to(root)
        seeds = sorted(set(study.seeds.values()))
        rows.append({"study": f"[{study.name}]({link.as_posix()})", "datasets": study.n_datasets})
        rows[-1] |= {"seeds": " to ".join(map(str, dict.fromkeys([seeds[0], seeds[-1]])))}
        rows[-1] |= {"runs": cost["runs"], "interactions": cost["interactions"], "core-hours": cost["core_hours"]}
        rows[-1] |= {"wall-clock": f"{60 * hours:.0f} min" if (hours := cost.get("wall_clock_hours")) else "?"}
        rows[-1] |= {"peak memory of a run": f"{peak / 2**30:.1f} GiB" if (peak := cost.get("peak_memory")) else "?"}
    return rows


def _share(count: int, datasets: int) -> str:
    return f"{count} ({count / datasets:.0%})" if datasets else "0"


def versions(studies: Sequence[Committed]) -> pd.DataFrame:
    """Return the code, packages and machines that made studies, a row each."""
    rows = [
        {"study": study.name, "commit": str(origin.get("git"))[:12] + (" (changed)" if origin.get("git_dirty") else "")}
        | {"Python": origin.get("python"), "CPU": origin.get("cpu")}
        | {name: origin.get("packages", {}).get(name) for name in ("emt", "numpy", "numba")}
        for study in studies
        for origin in study.manifest.get("origins", [])
    ]
    return pd.DataFrame(rows)

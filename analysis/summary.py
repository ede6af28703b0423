"""The Markdown file that a person reads first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from analysis.cast import Cast
from analysis.meta import COMPACT, FOLDS, MIN_OF_CLASS, REPEATS, Forest
from analysis.metafeatures import FEATURES
from analysis.paper import MIN_DATASETS, MIN_SEEDS, TABLE_1, TABLE_1_DATASETS
from analysis.wins import to_markdown
from experiments.cli import command
from experiments.plan import Plan

__all__ = ["claims_section", "coverage_section", "figures_section", "markdown_table", "runs_section", "wins_section"]


def markdown_table(rows: Iterable[Mapping[str, Any]] | pd.DataFrame) -> str:
    """Return rows as a Markdown table, numbers to the right.

    Examples
    --------
    >>> print(markdown_table([{"learner": "EMT", "runs": 1200}]))
    | learner | runs |
    | --- | ---: |
    | EMT | 1,200 |
    """
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows))
    sides = [" ---: |" if pd.api.types.is_numeric_dtype(frame[column]) else " --- |" for column in frame]
    lines = [f"| {' | '.join(map(str, frame.columns))} |", f"|{''.join(sides)}"]
    lines += [f"| {' | '.join(_cell(value) for value in row)} |" for row in frame.itertuples(index=False)]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.4g}"
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return " ".join(text.replace("|", r"\|").split())


def coverage_section(finals: pd.DataFrame, todo: Plan, cast: Cast, n_failed: int) -> str:
    """Say what was run, and how much of what was meant to be run is there."""
    study, n_datasets = todo.study, len((todo.sources.keys() | todo.missing.keys()) - todo.short.keys())
    n_done, n_expected = len(finals), n_datasets * len(study.learners) * study.seeds
    size = f"{n_datasets} datasets, {study.seeds} seeds, {len(study.learners)} learners"
    share = f"{n_done:,} of {n_expected:,} runs are done ({n_done / max(n_expected, 1):.1%}), {n_failed:,} failed"
    lines = ["## What was run", "", f"{share}: {size}, at most {study.horizon:,} interactions a run.", ""]
    if n_done < n_expected:
        lines += [
            f"What is missing is run by `{command('experiments.run', study)}`, which goes on where it stopped.",
            "",
        ]
    rows = []
    for learner in cast.order():
        part = finals[finals["learner"] == learner]
        complete = part.groupby("dataset")["seed"].nunique() >= study.seeds
        whole = part["seconds"].mean() * n_datasets * study.seeds / 3600
        rows.append({"learner": cast.label(learner), "runs done": len(part), "datasets": part["dataset"].nunique()})
        rows[-1] |= {"datasets with all seeds": int(complete.sum()), "interactions": int(part["n_steps"].sum())}
        rows[-1] |= {"core-hours": part["seconds"].sum() / 3600, "core-hours of the whole study": whole}
    return "\n".join([*lines, markdown_table(rows)])


def wins_section(title: str, table: pd.DataFrame, cast: Cast, rule: str) -> str:
    """Show the counts, the ties and losses behind them, and the paper's Table 1 beside ours as percentages."""
    label = cast.label
    place = {learner: index for index, learner in enumerate(dict.fromkeys(table["row"]))}
    pairs: list[dict[str, Any]] = table.to_dict("records")  # type: ignore[assignment]
    once = [
        {
            "pair": f"{label(pair['row'])} : {label(pair['column'])}",
            **{name: pair[name] for name in ("wins", "ties", "losses", "datasets")},
            "seeds": f"{pair['fewest_seeds']} to {pair['most_seeds']}",
        }
        for pair in pairs
        if place[pair["row"]] < place[pair["column"]]
    ]
    lines = [
        f"## {title}",
        "",
        f"On how many datasets the row beats the column ({rule}).",
        "",
        to_markdown(table, label),
        "",
    ]
    lines += _beside_table_1(pairs, cast)
    lines += ["Only datasets that both learners finished count, paired by the seeds that both have:", ""]
    return "\n".join([*lines, markdown_table(once)])


def _beside_table_1(pairs: list[dict[str, Any]], cast: Cast) -> list[str]:
    ours = {(pair["row"], pair["column"]): pair for pair in pairs if pair["datasets"]}
    learners = [name for name in TABLE_1 if any(name in pair for pair in ours)]
    rows = []
    for row in learners:
        cells = {"": cast.label(row)}
        for column in learners:
            pair = ours.get((row, column))
            here = f"{pair['wins'] / pair['datasets']:.0%}" if pair else "?"
            published = TABLE_1[row].get(column, 0) / TABLE_1_DATASETS
            cells[cast.label(column)] = "---" if row == column else f"{here} ({published:.0%})"
        rows.append(cells)
    text = f"As shares of the datasets, in brackets those of the paper's Table 1 ({TABLE_1_DATASETS} datasets):"
    return [text, "", markdown_table(rows), ""] if len(learners) > 1 else []


def claims_section(verdicts: list[dict[str, Any]]) -> str:
    """List each claim with its verdict and the numbers behind it."""
    rows = [
        {
            "claim": verdict["claim"],
            "verdict": f"**{verdict['verdict']}**",
            "wins": verdict["wins"],
            "ties": verdict["ties"],
            "losses": verdict["losses"],
            "datasets": verdict["datasets"],
            "seeds (median)": verdict["seeds"],
            "mean difference": f"{verdict['mean']:+.4f}" if verdict["datasets"] else "",
            "paper": verdict["published"],
            "holds where": verdict["rule"],
        }
        for verdict in verdicts
    ]
    intro = (
        f"Too little data: fewer than {MIN_DATASETS} datasets that both finished, fewer than {MIN_SEEDS} seeds, "
        "or more wins than losses but no more than chance would give."
    )
    return "\n".join(["## The paper's claims", "", markdown_table(rows), "", intro, ""])


def figures_section(title: str, figures: Mapping[str, str], intro: str = "") -> str:
    """Embed figures: name of the file and what it shows."""
    lines = [f"## {title}", ""] + ([intro, ""] if intro else [])
    for name, text in figures.items():
        lines += [f"{text} ([PDF](figures/{name}.pdf))", "", f"![{text}](figures/{name}.png)", ""]
    return "\n".join(lines)


def meta_section(
    forest: Forest | None, table: pd.DataFrame, missing: Mapping[str, str], figures: Mapping[str, str], prepare: str
) -> str:
    """Say how well meta-features predict where EMT beats parametric, or why that cannot be said."""
    wins, n = int((table["outcome"] == 1).sum()), len(table)
    lines = [f"Meta-features of {n} datasets; EMT beats parametric on {wins} of them, and does not on {n - wins}."]
    if missing:
        name, reason = next(iter(missing.items()))
        lines += [f"{len(missing)} datasets are missing here (the first is {name}: {reason}). `{prepare}` makes them."]
    if forest:
        published = {"full": 0.82, "compact": 0.79}
        rows = [{"model": name, **row, "paper": published.get(name)} for name, row in forest.scores.items()]
        chosen = forest.importances.sort_values("chosen", ascending=False).head(COMPACT)
        names = ", ".join(f"{FEATURES[row['feature']]} ({row['chosen']:.0%})" for _, row in chosen.iterrows())
        lines += [
            f"A random forest predicts where EMT wins; macro F1 on held-out datasets ({FOLDS}-fold, stratified, "
            f"{REPEATS} times), 95 % interval of the bootstrap over datasets, beside the guess of the majority:",
            markdown_table(rows),
            f"The full model is {'' if forest.beats_majority else '**not** '}clearly above the guess of the majority. "
            f"The compact model chooses {COMPACT} features inside each training split, most often: {names}.",
        ]
    else:
        lines += [f"**Too little data** for the forest: it needs at least {MIN_OF_CLASS} datasets of each class."]
    return figures_section("Where EMT beats parametric: meta-features", figures, "\n\n".join(lines))


def runs_section(
    speed: pd.DataFrame, finals: pd.DataFrame, failed: pd.DataFrame, cast: Cast, n_listed: int = 10
) -> str:
    """Show the time that was spent, the slowest runs and the failed ones."""
    shown = pd.DataFrame(
        {
            "learner": [cast.label(learner) for learner in speed["learner"]],
            "interactions a second and core": speed["per_second"].round().astype(int),
            "slowest run (s)": speed["slowest"],
        }
    )
    lines = ["## Time and failures", "", markdown_table(shown), ""]
    slowest = finals.sort_values(["seconds", "dataset"], ascending=[False, True]).head(n_listed)
    lines += ["Slowest runs:", "", markdown_table(slowest[["learner", "dataset", "seed", "n_steps", "seconds"]]), ""]
    if len(failed):
        lines += [f"{len(failed)} failed runs" + (f", the first {n_listed}:" if len(failed) > n_listed else ":"), ""]
        lines += [markdown_table(failed[["id", "message"]].head(n_listed)), ""]
    else:
        lines += ["No run failed.", ""]
    return "\n".join(lines)

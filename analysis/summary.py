"""The Markdown file that a person reads first: findings, Table 1, mean rewards and the figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.cast import MANY
from analysis.look import file_name
from analysis.meta import COMPACT, FOLDS, MIN_OF_CLASS, REPEATS, Forest
from analysis.metafeatures import DESCRIPTIONS, FEATURES
from analysis.paper import MIN_DATASETS, PAPER_F1, PAPER_SEEDS, TABLE_1, TABLE_1_DATASETS
from analysis.results import Meta, Results
from analysis.section import Section, signed
from analysis.sweep import sweep_rows, sweep_sentence
from analysis.tables import markdown, standing, wins_markdown
from analysis.tidy import count_text
from analysis.wins import MIN_SEEDS, outcome_counts, outcome_text
from experiments.cli import command

__all__ = [
    "describe_features",
    "findings",
    "forest_rows",
    "meta_sentences",
    "reason",
    "summary_text",
    "sweep_heading",
    "table_1_rows",
]

Figures = Mapping[str, Mapping[str, str]]
LISTED = 10  # failed runs that are listed; the page has all


def summary_text(results: Results, figures: Figures) -> str:
    """Return the summary: `figures` has, by section, the names of files and what they show."""
    title = " / ".join(results.study.folder.relative_to(results.study.results).parts)
    sections = [f"# {title}", "\n".join(f"- {sentence}" for sentence in findings(results))]
    if len(results.finals):
        sections += ["[report.html](report.html) has all of it: every pair, dataset, curve and run."]
        sections += [part for section in results.sections for part in _own(section)]
        sections += [*_wins(results), *_rewards(results), *_claims(results)]
    for heading, shown in figures.items():
        sections += [_section(results, heading, shown)]
    sections += _failures(results)
    return "\n\n".join(section.strip() for section in sections) + "\n"


def findings(results: Results) -> list[str]:
    """Say in a few sentences what was run and what was found.

    What is missing is said first, so that half a study is not taken for a whole one.
    """
    study, n_done, n_all = results.study, results.n_done, results.n_expected
    failed = f", {len(results.failed):,} failed" if len(results.failed) else ""
    stories = f"{len(study.stories)} stories, " if len(study.stories) > 1 else ""
    said = [
        f"{n_done:,} of {n_all:,} runs are done ({n_done / max(n_all, 1):.1%}){failed}: {results.n_datasets} datasets, "
        f"{study.seeds} seeds, {len(study.learners)} learners, {stories}at most {study.horizon:,} interactions a run."
    ]
    if not n_done:
        said += [f"There is no finished run of it in `{study.folder / 'runs'}` yet."]
        said += [f"The study is run by `{command('run', study)}`."]
        return said + _sweep_findings(results)
    if n_done + len(results.failed) < n_all:
        said += [f"What is missing is run by `{command('run', study)}`, which goes on where it stopped."]
    if len(results.failed):
        said += [f"The failed ones are run again by `{command('run', study)} retry=errors`."]
    if len(study.stories) > 1:
        said += [f"Where no story is named, what is said is about the story {study.stories[0]}."]
    label, means = results.present.label, results.means
    if results.even:
        best = means.sort_values("mean", ascending=False, kind="stable").iloc[0]
        count = count_text(best["datasets"], best["fewest_seeds"], best["most_seeds"])
        said += [f"The highest mean reward is {best['mean']:.3f} ({label(best['learner'])}, {count})."]
    else:
        said += ["Not all learners have finished runs of the same datasets: compare differences, not means."]
    others = means[means["learner"] != results.baseline].sort_values("difference", ascending=False, kind="stable")
    if len(results.present.members) > MANY:
        said += [f"Each against {label(results.baseline)} is in the table of mean rewards, each pair on the page."]
    else:
        said += [_against(results, row) for row in others.to_dict("records") if row["shared"]]
    said += _sweep_findings(results)
    judged = pd.Series([claim["verdict"] for claim in results.claims], dtype=str).value_counts(sort=False)
    if len(judged):
        verdicts = ", ".join(f"{word} ({n})" for word, n in judged.items())
        said += [f"Verdicts on the paper's claims that it can judge: {verdicts}."]
    return said


def _sweep_findings(results: Results) -> list[str]:
    few = {name: table for name, table in results.sweeps.items() if table["line"].nunique() <= MANY}
    return [sweep_sentence(table, parameter) for parameter, table in few.items()]


def _against(results: Results, row: Mapping[Any, Any]) -> str:
    counts = outcome_counts(results.contrast(row["learner"], results.baseline))
    return (
        f"{results.present.label(row['learner'])} against {results.present.label(results.baseline)}: "
        f"{outcome_text(counts)}; mean difference {signed(row['difference'], row['difference_se'])} "
        f"({'SE over ' if pd.notna(row['difference_se']) else ''}{_datasets(row['shared'])})."
    )


def _wins(results: Results) -> list[str]:
    table, label = results.wins, results.present.label
    if not 2 <= len(results.present.members) <= MANY:
        return []
    few = f" Fewer than {MIN_SEEDS} seeds decide nothing." if table["undecided"].any() else ""
    lines = [
        f"## Wins: {results.finals['dataset'].nunique()} datasets",
        f"On how many datasets the row beats the column ({results.options.rule}; {standing(table)}).{few}",
        wins_markdown(table, label),
    ]
    if rows := table_1_rows(results):
        lines += [
            f"As shares of the datasets, in brackets those of the paper's Table 1 ({TABLE_1_DATASETS} datasets, "
            f"{PAPER_SEEDS} seeds), by the paper's rule of 1.96 standard errors; * has fewer than {PAPER_SEEDS} seeds "
            "and goes by Student's t, which then decides fewer datasets:",
            markdown(rows),
        ]
    if results.beside:
        lines += ["Beside the paper:", markdown(results.beside)]
    links = [f"[{name}](tables/wins_{file_name(name)}.md)" for name in results.group_wins]
    return lines + ([f"The same for the groups {', '.join(links)}."] if links else [])


def table_1_rows(results: Results) -> list[dict[str, str]]:
    """Return the shares of wins for the paper's Table 1, each with the paper's in brackets."""
    ours, label = results.table_1, results.present.label
    learners = [name for name in TABLE_1 if any(name in pair for pair in ours)]
    rows = []
    for row in learners:
        cells = {"": label(row)}
        for column in learners:
            cells[label(column)] = "—" if row == column else _share(ours.get((row, column)), TABLE_1[row][column])
        rows.append(cells)
    return rows


def _share(pair: Mapping[str, Any] | None, published: int) -> str:
    paper = f"({published / TABLE_1_DATASETS:.0%})"
    if pair is None or pair["undecided"] == pair["datasets"]:
        return f"undecided {paper}" if pair else f"? {paper}"
    return f"{pair['wins'] / pair['datasets']:.0%}{'' if pair['rule'] == 'paper' else '*'} {paper}"


def _rewards(results: Results) -> list[str]:
    rows = [
        {
            "learner": results.present.label(row["learner"]),
            "mean reward": f"{row['mean']:.4f}",
            f"difference to {results.present.label(results.baseline)}": signed(row["difference"])
            if row["shared"]
            else "",
            "its SE": f"{row['difference_se']:.4f}" if pd.notna(row["difference_se"]) else "",
            "wins, ties, losses": _counts(results, row["learner"]) if row["shared"] else "",
            "datasets": int(row["datasets"]),
            "seeds": " to ".join(f"{seeds:.0f}" for seeds in sorted({row["fewest_seeds"], row["most_seeds"]})),
        }
        for row in results.means.to_dict("records")
    ]
    told = (
        "Final progressive reward. The difference is taken dataset by dataset and seed by seed, and its SE is over "
        "datasets; each learner on each dataset is in [rewards.csv](tables/rewards.csv)."
    )
    return ["## Mean rewards", told, markdown(rows)]


def _counts(results: Results, learner: str) -> str:
    return outcome_text(outcome_counts(results.contrast(learner, results.baseline)))


def _datasets(n: int) -> str:
    return f"{n} dataset{'' if n == 1 else 's'}"


def _own(section: Section) -> list[str]:
    """Return a study's own section."""
    lines = [f"## {section.heading}", "\n".join(f"- {sentence}" for sentence in section.sentences)]
    for caption, table in section.tables.items():
        lines += [f"{caption}:", markdown(table)]
    return lines + [_figure(picture.name, picture.text) for picture in section.pictures]


def _claims(results: Results) -> list[str]:
    if not results.claims:
        return []
    keys = ("claim", "verdict", "wins", "ties", "losses", "datasets", "seeds")
    rows = [{**{key: claim[key] for key in keys}, "paper": claim["published"]} for claim in results.claims]
    told = (
        f"Judged where both learners are there; too little data: fewer than {MIN_DATASETS} datasets, or no more wins "
        f"than chance would give. A share of wins needs {PAPER_SEEDS} seeds to be refuted, and fewer can confirm it."
    )
    return ["## The paper's claims", markdown(rows), told]


def _section(results: Results, heading: str, figures: Mapping[str, str]) -> str:
    lines = [f"## {heading}"]
    if heading.startswith("Progressive"):
        lines += [f"Datasets with at least {results.length:,} interactions, the same ones for all lines of a figure."]
    if heading.startswith("Where") and results.meta:
        lines += meta_sentences(results, results.meta)
        lines += [markdown(forest_rows(results.meta.forest))] if results.meta.forest else []
        lines += ["What the features are is in [meta_features.md](tables/meta_features.md)."]
    if heading.startswith("Budgets"):
        lines += [
            "The loss is of mean reward against the largest budget, paired by dataset and seed; SE over datasets.",
            markdown(_budget_rows(results)),
        ]
    for parameter, table in results.sweeps.items():
        if heading == sweep_heading(parameter):
            lines += [markdown(sweep_rows(table, parameter))]
    return "\n\n".join([*lines, *(_figure(name, text) for name, text in figures.items())])


def _budget_rows(results: Results) -> list[dict[str, Any]]:
    label = results.present.label
    return [
        {
            "learner": label(row["learner"]),
            "budget": row["budget"],
            "share of memory": f"{100 * row['share']:.3g}%",
            "loss of reward": "" if row["learner"] == row["reference"] else f"{row['loss']:.4f}",
            "its SE": f"{row['se']:.4f}" if row["learner"] != row["reference"] and pd.notna(row["se"]) else "",
            "datasets": row["datasets"],
            f"against {label(results.baseline)}": outcome_text(row) if row["versus_baseline"] else "",
        }
        for row in results.budgets.to_dict("records")
    ]


def sweep_heading(parameter: str) -> str:
    """Return the heading of a sweep.

    Examples
    --------
    >>> sweep_heading("leaf_capacity")
    'Side by side: leaf capacity'
    """
    return f"Side by side: {parameter.replace('_', ' ')}"


def _figure(name: str, text: str) -> str:
    return f"{text} ([PDF](figures/{name}.pdf))\n\n![{text}](figures/{name}.png)"


def meta_sentences(results: Results, meta: Meta) -> list[str]:
    """Say how well meta-features predict where EMT beats parametric, or why that cannot be said."""
    counts, n = outcome_counts(meta.table), len(meta.table)
    lines = [f"Meta-features of {_datasets(n)}, on which EMT against parametric has {outcome_text(counts)}."]
    if meta.missing:
        name, reason = next(iter(meta.missing.items()))
        prepare = command("prepare", results.study)
        lines += [
            f"{len(meta.missing)} datasets are missing here (the first is {name}: {reason}). `{prepare}` makes them."
        ]
    forest = meta.forest
    if forest is None:
        return [*lines, f"**Too little data** for the forest: it needs at least {MIN_OF_CLASS} datasets of each class."]
    chosen = forest.importances.sort_values("chosen", ascending=False).head(COMPACT)
    names = ", ".join(f"{FEATURES[row['feature']]} ({row['chosen']:.0%})" for _, row in chosen.iterrows())
    return [
        *lines,
        f"A random forest predicts where EMT wins; macro F1 on held-out datasets ({FOLDS}-fold, stratified, "
        f"{REPEATS} times) with the 95 % interval of the bootstrap over datasets. The full model is "
        f"{'' if forest.beats_majority else '**not** '}clearly above the guess of the majority. "
        f"The compact model chooses {COMPACT} features inside each training split, most often: {names}.",
    ]


def forest_rows(forest: Forest) -> list[dict[str, Any]]:
    """Return the scores of the forest's models beside the paper's."""
    return [{"model": name, **row, "paper": PAPER_F1.get(name)} for name, row in forest.scores.items()]


def describe_features() -> pd.DataFrame:
    """Return the paper's table of meta-features.

    Examples
    --------
    >>> describe_features().shape
    (12, 3)
    """
    rows = [{"name": name, "feature": FEATURES[name], "description": DESCRIPTIONS[name]} for name in FEATURES]
    return pd.DataFrame(rows)


def reason(message: str) -> str:
    r"""Return what an error says, without the lines of the traceback above it.

    Examples
    --------
    >>> reason("Traceback (most recent call last):\n  File 'a.py', line 1\nValueError: no luck\nat all")
    'ValueError: no luck at all'
    """
    lines = message.splitlines()
    inside = [place for place, line in enumerate(lines) if line.startswith(" ") or line.startswith("Traceback")]
    told = lines[max(inside, default=-1) + 1 :] or lines
    return " ".join(line.strip() for line in told if line.strip())


def _failures(results: Results) -> list[str]:
    failed = results.failed
    if failed.empty:
        return []
    lines = [
        f"## Failures\n\n{len(failed):,} runs failed" + (f"; the first {LISTED}:" if len(failed) > LISTED else ":")
    ]
    shown = failed.head(LISTED)
    return [*lines, markdown(pd.DataFrame({"run": shown["id"], "why": shown["message"].map(reason)}))]

"""What the studies beyond the paper found out: the sentences of their reports, made again from what is committed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from analysis.committed import Committed
from analysis.details import details_section
from analysis.drift_answer import answer
from analysis.exploring import exploring_section
from analysis.plus import plus_sentences
from analysis.search import search_sentences
from analysis.section import Section, signed
from analysis.sweep import sweep_sentence
from analysis.tidy import count_text
from analysis.wins import Rule
from experiments.cli import compose
from experiments.config import suite

__all__ = ["answers", "half_rows"]

HALVES = {"tuned on": "paper_tuning", "not tuned on": "paper_validation"}


def answers(found: Mapping[str, Committed]) -> str:
    """Return, for each study that is there, its question, its answers and the figure that shows them."""
    parts = []
    for name, question in QUESTIONS.items():
        if name in found:
            study = found[name]
            folder = f"results/{name}/{study.folder.name}"
            count = count_text(study.n_datasets, min(study.seeds.values()), max(study.seeds.values()))
            parts += [f"**[{question.text}]({folder}/summary.md)** ({count})"]
            parts += ["\n".join(f"- {sentence}" for sentence in question.answers(study))]
            parts += [f"![{question.text}]({folder}/figures/{question.figure}.png)"]
    return "\n\n".join(parts)


def half_rows(study: Committed) -> list[dict[str, Any]]:
    """Return PEMT+ against PEMT on the half of the tasks that it was tuned on, and on the other half."""
    rows = []
    for words, half in HALVES.items():
        tasks = [f"task-{task}" for task in suite(compose([f"suite={half}"])).datasets]
        ours = study.counts("pemt_plus", "pemt", study.finals[study.finals["dataset"].isin(tasks)])
        rows.append({"tasks": words} | {key: ours[key] for key in ("datasets", "seeds", "wins", "ties", "losses")})
        rows[-1] |= {"mean difference": signed(ours["mean"], ours["se"])}
    return rows


def _details(study: Committed) -> list[str]:
    said = _sentences(details_section(study.finals, study.cast, Rule()))
    return said[:2]  # EMT's: all eight at once, and one at a time with the others as run


def _drift(study: Committed) -> list[str]:
    table = study.table("drift.csv")
    seeds = table["fewest_seeds"].min(), table["most_seeds"].max()
    return answer(table, study.cast, "pemt", count_text(table["datasets"].max(), *seeds))


def _search(study: Committed) -> list[str]:
    return search_sentences(study.table("search.csv").fillna({"line": ""}), study.cast)


def _capacity(study: Committed) -> list[str]:
    return [sweep_sentence(study.table("sweep_leaf_capacity.csv"), "leaf_capacity")]


def _explore(study: Committed) -> list[str]:
    return _sentences(exploring_section(study.finals, study.cast, Rule()))


def _plus(study: Committed) -> list[str]:
    return plus_sentences(
        study.table("parts.csv").fillna({"part": ""}), study.table("worst.csv").fillna({"culprit": ""})
    )


def _sentences(section: Section | None) -> list[str]:
    return section.sentences if section else []


class Question(NamedTuple):
    """What a study asks, the name of the figure that shows the answer, and what answers."""

    text: str
    figure: str
    answers: Callable[[Committed], list[str]]


QUESTIONS = {
    "details": Question("Which of the eight details matter?", "details", _details),
    "drift": Question("How robust is EMT to non-stationarity?", "drift", _drift),
    "search": Question("Is the tree worth it?", "search", _search),
    "capacity": Question("How much should a leaf hold?", "sweep_leaf_capacity", _capacity),
    "explore": Question("Does another way to explore earn more?", "exploring", _explore),
    "plus": Question("What is each part of PEMT+ worth?", "parts", _plus),
}

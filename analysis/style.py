"""The look of every figure: one palette, one size of type, one way to save."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "ORANGE",
    "SKY",
    "VERMILION",
    "budget_of",
    "label",
    "learner_order",
    "new_figure",
    "save",
    "style_of",
]

# Okabe and Ito's colours, told apart by the colour-blind too.
ORANGE, GREEN, BLUE, SKY, VERMILION, GREY = "#E69F00", "#009E73", "#0072B2", "#56B4E9", "#D55E00", "#7F7F7F"

# name of the config: (label in print, colour, line style), in the order of the tables; budgets ("pemt_1000") are below
LEARNERS: dict[str, tuple[str, str, Any]] = {
    "pemt": ("PEMT", VERMILION, "-"),
    "emt": ("EMT", BLUE, "-"),
    "pcmt": ("PCMT", SKY, "--"),
    "cmt": ("CMT", ORANGE, "-."),
    "parametric": ("Parametric", GREEN, (0, (5, 1))),
    "emt_not_self_consistent": ("EMT, not self-consistent", ORANGE, "--"),
    "emt_as_printed": ("EMT as printed", SKY, "--"),
    "pemt_as_printed": ("PEMT as printed", ORANGE, "--"),
    "emt_random_router": ("EMT, random router", GREY, "-."),
    "vw_parametric": ("VW parametric", GREEN, ":"),
    "vw_emt": ("VW EMT", BLUE, ":"),
    "vw_pemt": ("VW PEMT", VERMILION, ":"),
}

matplotlib.rcParams.update(
    {
        "font.size": 9,
        "axes.titlesize": 9,
        "legend.fontsize": 8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "pdf.fonttype": 42,
        "svg.hashsalt": "emt",
    }
)


def budget_of(learner: str) -> int | None:
    """Return the memories that a learner's name allows it, None where the name says nothing.

    Examples
    --------
    >>> budget_of("pemt_1000"), budget_of("pemt")
    (1000, None)
    """
    match = re.fullmatch(r"pemt_(\d+)", learner)
    return int(match.group(1)) if match else None


def label(learner: str) -> str:
    """Return a learner's name in print; a learner that the paper does not have keeps its config's name.

    Examples
    --------
    >>> label("pemt_1000"), label("mine")
    ('PEMT, 1,000 memories', 'mine')
    """
    if budget := budget_of(learner):
        return f"PEMT, {budget:,} memories"
    return LEARNERS[learner][0] if learner in LEARNERS else learner


def style_of(learner: str, position: int = 0) -> dict[str, Any]:
    """Return the colour and line style of a learner; budgets and unknown ones take those of their place in the figure.

    Examples
    --------
    >>> style_of("emt")["color"]
    '#0072B2'
    """
    colours, dashes = (BLUE, VERMILION, ORANGE, SKY, GREY), ("-", "--", "-.", ":", (0, (1, 2)))
    place = position % len(colours)
    _, colour, dash = LEARNERS.get(learner, (learner, colours[place], dashes[place]))
    return {"color": colour, "linestyle": dash}


def learner_order(learners: Iterable[str]) -> list[str]:
    """Return the learners in the order of the paper's tables, then budgets from the largest, then unknown ones by name.

    Examples
    --------
    >>> learner_order(["mine", "pemt_1000", "parametric", "pemt_2000", "pemt"])
    ['pemt', 'parametric', 'pemt_2000', 'pemt_1000', 'mine']
    """
    known = list(LEARNERS)

    def place(learner: str) -> tuple[int, int, str]:
        index = known.index(learner) if learner in LEARNERS else len(known) + (budget_of(learner) is None)
        return index, -(budget_of(learner) or 0), learner

    return sorted(set(learners), key=place)


def new_figure(width: float = 6, height: float = 2.5) -> tuple[Figure, Axes]:
    """Return an empty figure of this size in inches and its axes, outside pyplot's global state."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write ``<name>.pdf`` and ``<name>.png``; the same figure gives the same bytes (no dates, no versions)."""
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.pdf", metadata={"CreationDate": None, "Producer": None, "Creator": None})
    figure.savefig(folder / f"{name}.png", dpi=200, metadata={"Software": None})

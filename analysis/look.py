"""The look of every figure: one palette, one size of type, one way to save."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["BLUE", "GREEN", "GREY", "ORANGE", "SKY", "VERMILION", "file_name", "new_figure", "save", "style_of"]

# Okabe and Ito's colours, told apart by the colour-blind too.
ORANGE, GREEN, BLUE, SKY, VERMILION, GREY = "#E69F00", "#009E73", "#0072B2", "#56B4E9", "#D55E00", "#7F7F7F"

# name of the learner: (colour, line style)
STYLES: dict[str, tuple[str, Any]] = {
    "pemt": (VERMILION, "-"),
    "emt": (BLUE, "-"),
    "pcmt": (SKY, "--"),
    "cmt": (ORANGE, "-."),
    "parametric": (GREEN, (0, (5, 1))),
    "emt_not_self_consistent": (ORANGE, "--"),
    "emt_as_printed": (SKY, "--"),
    "pemt_as_printed": (ORANGE, "--"),
    "emt_random_router": (GREY, "-."),
    "vw_parametric": (GREEN, ":"),
    "vw_emt": (BLUE, ":"),
    "vw_pemt": (VERMILION, ":"),
    "vw_cmt": (ORANGE, ":"),
    "vw_pcmt": (SKY, ":"),
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


def style_of(learner: str, position: int = 0) -> dict[str, Any]:
    """Return the colour and line style of a learner; one that the paper does not have takes those of its place.

    Examples
    --------
    >>> style_of("emt")["color"]
    '#0072B2'
    """
    colours, dashes = (BLUE, VERMILION, ORANGE, SKY, GREY), ("-", "--", "-.", ":", (0, (1, 2)))
    turn, place = divmod(position, len(colours))  # a second turn has the same colours with other dashes
    colour, dash = STYLES.get(learner, (colours[place], dashes[(place + turn) % len(dashes)]))
    return {"color": colour, "linestyle": dash}


def file_name(text: str) -> str:
    """Return a name that a file can have everywhere, in links and LaTeX too.

    Examples
    --------
    >>> file_name("emt[budget=200,eviction=fifo]")
    'emt_budget_200_eviction_fifo'
    """
    return re.sub(r"[^\w.+-]+", "_", text).strip("_")


def new_figure(width: float = 6, height: float = 2.5) -> tuple[Figure, Axes]:
    """Return an empty figure of this size in inches and its axes, outside pyplot's global state."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write ``<name>.pdf`` and ``<name>.png``; the same figure gives the same bytes (no dates, no versions)."""
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.pdf", metadata={"CreationDate": None, "Producer": None, "Creator": None})
    figure.savefig(folder / f"{name}.png", dpi=200, metadata={"Software": None})

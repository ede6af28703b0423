"""The look of every figure: one colour for each learner everywhere, one size of type, one way to save."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from textwrap import fill
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib import colors
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from analysis.cast import Cast
from emt.files import replacing

__all__ = [
    "BLUE",
    "GREY",
    "ORANGE",
    "SHAPES",
    "VERMILION",
    "Style",
    "file_name",
    "in_lines",
    "legend_outside",
    "line_colours",
    "new_figure",
    "save",
    "styles_of",
]

# Okabe and Ito's colours, told apart by the colour-blind too.
ORANGE, GREEN, BLUE, SKY, VERMILION, PURPLE = "#E69F00", "#009E73", "#0072B2", "#56B4E9", "#D55E00", "#CC79A7"
GREY = "#7F7F7F"

COLOURS = {
    "pemt_plus": "#000000",
    "pcmt_plus": "#4D2D40",
    "pemt": VERMILION,
    "emt": BLUE,
    "pcmt": PURPLE,
    "cmt": ORANGE,
    "parametric": GREEN,
    "knn": "#A6761D",
    "ridge": "#1B7837",
    "linucb": "#5AAE61",
    "emt_not_self_consistent": SKY,
    "emt_as_printed": "#332288",
    "pemt_as_printed": "#882255",
    "emt_random_router": "#999933",
    "emt_audited": "#5B8DB8",
    "vw_parametric": "#00573F",
    "vw_emt": "#003F62",
    "vw_pemt": "#753400",
    "vw_cmt": "#7F5700",
    "vw_pcmt": "#70435C",
}
# Of learners that the project does not have, in the order of the study (after Paul Tol's muted scheme).
MORE = ("#AA4499", "#44AA99", "#661100", "#6699CC", "#B8A037", "#117733", "#CC6677", "#444444")
DASHES = ("-", "--", "-.", (0, (5, 1)), (0, (3, 1, 1, 1)), ":", (0, (1, 1)))
BLACKISH = 0.35  # a colour of which no part is more than this has no darker shades that could be told apart
LIGHTEST = -0.7  # shade of it, of the same where there are several: 70% white
MARKERS = ("o", "s", "D", "P", "X", "v", "^", "*")
# outcome: marker, and how much of the colour is left (shade)
SHAPES = {"win": ("^", 1.0), "loss": ("v", 1.0), "tie": ("o", 0.45), "undecided": ("x", 0.45)}

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


@dataclass(frozen=True)
class Style:
    """How a learner is drawn, in every figure of a study."""

    colour: str
    dash: Any
    marker: str

    @property
    def line(self) -> dict[str, Any]:
        """Arguments of Matplotlib's ``plot``."""
        return {"color": self.colour, "linestyle": self.dash}


def styles_of(cast: Cast) -> dict[str, Style]:
    """Return the style of each learner of a study: values of a parameter are shades of one colour, the darkest last.

    Examples
    --------
    >>> from analysis.cast import Member
    >>> styles = styles_of(Cast({"emt": Member("emt"), "mine": Member("mine")}))
    >>> styles["emt"].colour, styles["mine"].colour
    ('#0072B2', '#AA4499')
    """
    shared: dict[str, list[str]] = {}
    for name in cast.order():
        shared.setdefault(cast.members[name].base, []).append(name)
    shades = _shaded(cast, shared)
    return {
        name: Style(shades[name], DASHES[place % len(DASHES)], MARKERS[place % len(MARKERS)])
        for place, name in enumerate(cast.order())
    }


def line_colours(cast: Cast, lines: Mapping[str, str]) -> dict[str, str]:
    """Return the colours of lines that join learners, by one learner of each: theirs, darker for each further line.

    Examples
    --------
    >>> from analysis.cast import Member
    >>> cast = Cast({name: Member("emt") for name in ("a", "b", "c", "d")})
    >>> line_colours(cast, {"a to d": "b"})
    {'a to d': '#0072B2'}
    """
    shared: dict[str, list[str]] = {}
    for line, learner in lines.items():
        shared.setdefault(cast.members[learner].base, []).append(line)
    return _shaded(cast, shared, lightest=0)


def _shaded(cast: Cast, shared: Mapping[str, list[str]], lightest: float = -0.5) -> dict[str, str]:
    """Return shades of the colour of each base for the names that share it."""
    strangers = dict.fromkeys(base for name in cast.order() if (base := cast.members[name].base) not in COLOURS)
    colour = COLOURS | {base: MORE[place % len(MORE)] for place, base in enumerate(strangers)}
    return {
        name: shade
        for base, names in shared.items()
        for name, shade in zip(names, _shades(colour[base], len(names), lightest), strict=True)
    }


def _shades(colour: str, n: int, lightest: float) -> list[str]:
    """Return a colour from its lightest to a dark shade; 0 is the colour itself, as it is where it is alone.

    What is nearly black cannot be darker, and is the darkest shade itself.
    """
    if n == 1:
        return [colour]
    low, high = (lightest, 0.5) if max(colors.to_rgb(colour)) > BLACKISH else (max(lightest - 0.5, LIGHTEST), 0.0)
    mixes = [(1.0, -share) if share < 0 else (0.0, share) for share in np.linspace(low, high, n)]
    return [_mixed(colour, target, share) for target, share in mixes]


def _mixed(colour: str, target: float, share: float) -> str:
    """Return a colour with so much of white (1) or black (0) in it."""
    red, green, blue = (1 - share) * np.array(colors.to_rgb(colour)) + share * target
    return str(colors.to_hex((red, green, blue)))


def faded(colour: str, left: float) -> str:
    """Return a colour of which so much is left, the rest white.

    Examples
    --------
    >>> faded("#000000", 0.0)
    '#ffffff'
    """
    return _mixed(colour, 1.0, 1 - left)


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


def in_lines(text: str, width: int) -> str:
    r"""Return a text in lines of so many characters, broken between words alone.

    Examples
    --------
    >>> in_lines("EMT, not self-consistent", 20)
    'EMT, not\nself-consistent'
    """
    return fill(text, width, break_on_hyphens=False)


def legend_outside(
    figure: Figure,
    handles: Sequence[Any],
    columns: int,
    place: Literal["outside lower center", "outside upper center"] = "outside lower center",
) -> None:
    """Put a legend below or above the axes, in as many columns, at most so many, as there is room for."""
    for n in range(columns, 0, -1):
        legend = figure.legend(handles=handles, loc=place, ncols=n, frameon=False)
        figure.draw_without_rendering()
        if n == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write ``<name>.pdf`` and ``<name>.png``; the same figure gives the same bytes (no dates, no versions).

    The PNG has a palette of 256 colours, which makes it a third as long.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / f"{name}.pdf") as file:
        figure.savefig(file, format="pdf", metadata={"CreationDate": None, "Producer": None, "Creator": None})
    with BytesIO() as file:
        figure.savefig(file, format="png", dpi=200, metadata={"Software": None})
        picture = Image.open(file).convert("RGB")
    few_colours = picture.quantize(256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    with replacing(folder / f"{name}.png") as file:
        few_colours.save(file, format="png", optimize=True)

"""A part of a report that is a study's own: what it says, its tables and its figures, shown alike everywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

__all__ = ["Picture", "Section", "signed"]


class Picture(NamedTuple):
    """A figure: the name of its file, what it shows, and what draws it."""

    name: str
    text: str
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class Section:
    """What a study was made to find out.

    Attributes
    ----------
    heading : str
        Its title.
    sentences : list of str
        What was found, in words made from the numbers.
    files : dict of str to DataFrame
        Whole tables, by the names of their CSV files.
    tables : dict of str to DataFrame
        Tables as they are read, by what they show.
    pictures : list of Picture
        Its figures.
    parameters : frozenset of str
        Parameters of learners of which it says all there is to say.
    """

    heading: str
    sentences: list[str]
    files: dict[str, pd.DataFrame]
    tables: dict[str, pd.DataFrame]
    pictures: list[Picture] = field(default_factory=list)
    parameters: frozenset[str] = frozenset()


def signed(mean: float, se: float | None = None, digits: int = 4) -> str:
    """Return a difference in print, with its standard error if there is one.

    Examples
    --------
    >>> signed(0.0123, 0.002), signed(-0.5, float("nan"))
    ('+0.0123 ± 0.0020', '−0.5000')
    """
    text = f"{mean:+.{digits}f}".replace("-", "−")
    return text if se is None or pd.isna(se) else f"{text} ± {se:.{digits}f}"

"""Every choice of an Eigen Memory Tree, named, checked and listed once.

What the authors ran (Vowpal Wabbit's ``--emt``) differs from Algorithms 1-3 of the paper in eight points. Each is a
choice of its own in `CHOICES`; ``variant="as_run"`` and ``variant="as_printed"`` are two sets of them, and any one can
be given beside a variant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from emt.arguments import check_choice, check_counts, check_positive, check_yes_or_no

__all__ = ["CHOICES", "GREATEST", "MEMORY_OPTIONS", "VARIANTS", "Choice", "TreeOptions", "choices_table"]

#: The greatest size of numbers that a tree takes: Oja's method needs their fourth powers, and coin betting more.
GREATEST = {"float64": 1e30, "float32": 1e8}


@dataclass(frozen=True)
class Choice:
    """A point in which what was run differs from what is printed: its name, both values, and both in words."""

    name: str
    topic: str
    as_printed: Any
    printed: str
    as_run: Any
    run: str


#: The eight differences, in the order of the algorithms, and a ninth: what Vowpal Wabbit has changed since.
CHOICES = (
    Choice(
        *("initial_score", "score of a memory"),
        *("zero", "max(0, w·z), z = abs(x − x')"),
        *("distance", "w·z + 1 − exp(−distance), clipped to 0..3; an exact match always wins"),
    ),
    Choice("learning", "the scorer's w", "gradient", "random, updated by SGD", "coin", "0, updated by coin betting"),
    Choice(
        *("crossed", "keys"),
        *(False, "context and action"),
        *(True, "the router sees context and action, the scorer their products too"),
    ),
    Choice("weighted", "importance weight", False, "none", True, "1 / (number of actions × probability)"),
    Choice("epochs", "router", 1, "one pass of Oja's method", 40, "40 passes, reshuffled"),
    Choice("boundary", "at the boundary", "left", "left", "right", "right"),
    Choice("splits_at", "splits at", "capacity", "capacity", "above", "capacity + 1"),
    Choice(
        *("duplicates", "a key stored twice"),
        *("both", "two memories, the latest answers"),
        *("first", "one memory, with its first value"),
    ),
    Choice(
        *("cross_terms", "a coordinate that only one of two keys has"),
        *("absolute", "its absolute value in z"),
        *("absolute", "the same (today's Vowpal Wabbit keeps its sign: `signed`)"),
    ),
)

#: The values of all choices, by variant.
VARIANTS = {
    "as_run": {choice.name: choice.as_run for choice in CHOICES},
    "as_printed": {choice.name: choice.as_printed for choice in CHOICES},
}


def _of(check: Callable[..., None], *arguments: Any, default: Any = ..., optional: bool = False) -> Any:
    """Declare an option: how its value is checked, and what it is if none is given."""
    metadata = {"check": check, "arguments": arguments, "optional": optional}
    return field(metadata=metadata) if default is ... else field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class TreeOptions:
    """The options of `emt.EigenMemoryTree`, checked; choices that are None become those of the variant.

    Examples
    --------
    >>> TreeOptions(n_features=2).epochs, TreeOptions(n_features=2, variant="as_printed", boundary="right").boundary
    (40, 'right')
    >>> TreeOptions(n_features=2, router="eigne")
    Traceback (most recent call last):
    ...
    ValueError: router must be one of eigen, random, not 'eigne'
    """

    n_features: int = _of(check_counts, 0)
    n_levels: tuple[int, ...] = ()
    n_actions: int = _of(check_counts, 0, default=0)
    leaf_capacity: int = _of(check_counts, 1, default=100)
    budget: int | None = _of(check_counts, 1, 2**62, default=None, optional=True)
    eviction: str = _of(check_choice, ("lru", "fifo"), default="lru")
    scorer: str = _of(check_choice, ("self_consistent", "interaction"), default="self_consistent")
    router: str = _of(check_choice, ("eigen", "random"), default="eigen")
    variant: str = _of(check_choice, tuple(VARIANTS), default="as_run")
    initial_score: str = _of(check_choice, ("distance", "zero"), default=None)
    learning: str = _of(check_choice, ("coin", "gradient"), default=None)
    crossed: bool = _of(check_yes_or_no, default=None)
    weighted: bool = _of(check_yes_or_no, default=None)
    epochs: int = _of(check_counts, 1, 1000, default=None)
    boundary: str = _of(check_choice, ("left", "right"), default=None)
    splits_at: str = _of(check_choice, ("capacity", "above"), default=None)
    duplicates: str = _of(check_choice, ("first", "last", "both"), default=None)
    cross_terms: str = _of(check_choice, ("absolute", "signed"), default=None)
    eta: float = _of(check_positive, default=0.001)
    seed: int = _of(check_counts, None, default=0)
    dtype: str = _of(check_choice, ("float64", "float32"), default="float64")

    def __post_init__(self) -> None:
        check_choice(tuple(VARIANTS), variant=self.variant)
        for name, value in VARIANTS[self.variant].items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        for option in fields(self):
            value = getattr(self, option.name)
            if option.metadata and not (option.metadata["optional"] and value is None):
                option.metadata["check"](*option.metadata["arguments"], **{option.name: value})
                if option.metadata["check"] is check_counts:
                    object.__setattr__(self, option.name, int(value))  # numpy's wrap around
        for levels in self.n_levels:
            check_counts(1, n_levels=levels)
        object.__setattr__(self, "n_levels", tuple(int(n) for n in self.n_levels))
        n_coordinates = self.n_features + sum(self.n_levels) + self.n_actions
        if n_coordinates == 0:
            raise ValueError("a key needs something: n_features, n_levels and n_actions are all empty")
        if n_coordinates >= 2**31:
            raise ValueError(
                f"a key has {n_coordinates} coordinates (n_features, n_levels, n_actions), 2^31 - 1 at most"
            )


#: The options of a tree that a learner passes on; the shape of keys, seed and precision are the study's.
MEMORY_OPTIONS = tuple(
    option.name
    for option in fields(TreeOptions)
    if option.name not in ("n_features", "n_levels", "n_actions", "eta", "seed", "dtype")
)


def choices_table() -> str:
    """Return the table of choices in Markdown, as the README has it."""
    rows = [f"| `{c.name}` | {c.topic} | {c.printed} | {c.run} |" for c in CHOICES]
    return "\n".join(["| choice | | as printed | as run |", "| --- | --- | --- | --- |", *rows])

"""The choices of a tree: declared once, the same everywhere."""

import dataclasses
import inspect
from pathlib import Path

import pytest

from emt import EigenMemoryTree
from emt.learners import EMT, PEMT
from emt.options import CHOICES, MEMORY_OPTIONS, VARIANTS, TreeOptions, choices_table

PAGE = Path(__file__).parents[2] / "docs" / "library.md"
FIELDS = {option.name: option for option in dataclasses.fields(TreeOptions)}


def test_choices_that_are_not_given_are_those_of_the_variant():
    for variant, values in VARIANTS.items():
        options = dataclasses.asdict(TreeOptions(n_features=1, variant=variant))
        assert options.items() >= values.items()


@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: choice.name)
def test_one_choice_can_be_given_beside_a_variant(choice):
    options = TreeOptions(n_features=1, variant="as_printed", **{choice.name: choice.as_run})
    changed = {name for name, value in VARIANTS["as_printed"].items() if getattr(options, name) != value}
    assert changed <= {choice.name}
    assert getattr(options, choice.name) == choice.as_run


def test_the_variants_differ_in_eight_choices():
    assert sum(choice.as_run != choice.as_printed for choice in CHOICES) == 8


@pytest.mark.parametrize("option", [name for name in FIELDS if name not in ("n_features", "n_levels")])
def test_every_option_is_checked(option):
    with pytest.raises(ValueError, match=f"^{option} must be "):
        TreeOptions(n_features=1, **{option: -1.5})


def test_options_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TreeOptions(n_features=1).epochs = 3  # type: ignore[misc]


@pytest.mark.parametrize("kind", [EigenMemoryTree, EMT, PEMT])
def test_constructors_take_the_options_with_their_defaults(kind):
    parameters = inspect.signature(kind).parameters
    names = list(FIELDS) if kind is EigenMemoryTree else MEMORY_OPTIONS
    assert set(names) <= set(parameters)
    for name in set(names) - {"n_features"}:
        assert parameters[name].default == FIELDS[name].default, name


def test_a_learner_is_known_by_its_resolved_choices():
    assert EMT().params.items() >= VARIANTS["as_run"].items()
    assert PEMT(variant="as_printed", epochs=3).params.items() >= (VARIANTS["as_printed"] | {"epochs": 3}).items()


def test_the_page_of_the_library_has_the_table():
    assert choices_table() in PAGE.read_text(encoding="utf8")

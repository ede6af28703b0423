import json

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from analysis.cast import LABELS, Cast, Member, cast_of
from analysis.look import COLOURS
from experiments.checks import choices
from experiments.learners import learners


def test_every_learner_of_the_project_has_a_label_and_a_colour():
    assert set(choices("learner")) <= set(LABELS)
    assert set(LABELS) == set(COLOURS)


def test_labels_say_what_varies():
    entries = learners(
        [
            "emt",
            {"learner": "pemt", "budget": [1000, None]},
            {"learner": "emt", "leaf_capacity": 25, "eviction": "fifo"},
            {"name": "small", "learner": "pemt", "budget": 64},
            {"learner": "pemt_plus", "ridge": False, "neighbours": 0},
            {"learner": "emt", "crossed": False},
            {"learner": "emt_as_printed", "crossed": True},
            {"learner": "pemt_plus", "ridge": True},
        ]
    )
    cast = cast_of(entries, pd.DataFrame({"learner": [], "params": []}))
    assert [cast.label(name) for name in cast.members] == [
        "EMT",
        "PEMT, 1,000 memories",
        "PEMT, no budget",
        "EMT, leaf capacity 25, FIFO",
        "small",
        "PEMT+, no ridge, no neighbours",
        "EMT, not crossed",
        "EMT as printed, crossed",
        "PEMT+, with ridge",
    ]
    assert cast.label("emt[leaf_capacity=25,eviction=fifo]", but="leaf_capacity") == "EMT, FIFO"
    assert cast.label("stranger") == "stranger"


def test_the_order_is_the_papers_then_the_studys():
    names = ["mine", "pemt[b]", "parametric", "another", "pemt", "emt"]
    cast = Cast({name: Member("pemt" if name.startswith("pemt") else name) for name in names})
    assert cast.order() == ["pemt[b]", "pemt", "emt", "parametric", "mine", "another"]
    assert cast.order(["mine", "emt"]) == ["emt", "mine"]


def test_parameters_are_read_from_the_log():
    log = pd.DataFrame({"learner": ["emt"], "params": [json.dumps({"class": "EMT", "budget": 7})]})
    cast = cast_of(learners(["emt", "pemt"]), log)
    assert cast.value("emt", "budget") == 7
    assert cast.members["pemt"].params == {}


def test_budgets_are_of_parameters_whatever_the_names():
    def pemt(budget, **more):
        return Member("x", {}, {"class": "PEMT", "budget": budget, "epsilon": 0.1} | more)

    cast = Cast(
        {
            "small": pemt(64),
            "pemt[budget=9]": pemt(1000),
            "free": pemt(None),
            "other": pemt(5, epsilon=0.2),
            "emt": Member("emt", {}, {"class": "EMT", "budget": None}),
            "parametric": Member("parametric", {}, {"class": "Parametric"}),
        }
    )
    assert cast.budgets() == [["free", "pemt[budget=9]", "small"], ["other"]]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([None, 1, 2])), unique=True, max_size=9))
def test_families_share_the_learners_out(pairs):
    cast = Cast({f"{kind}{budget}": Member(kind, {}, {"class": kind, "budget": budget}) for kind, budget in pairs})
    families = cast.families("budget")
    assert sorted(name for family in families for name in family) == sorted(cast.members)
    for family in families:
        assert len({cast.value(name, "class") for name in family}) == 1
        assert len({cast.value(name, "budget") for name in family}) == len(family)

import pytest

from experiments.checks import ConfigError
from experiments.learners import instantiate, learners, sweep


def params(entries, key):
    return {name: instantiate(entry).params[key] for name, entry in learners(entries).items()}


def test_each_value_of_a_list_is_a_learner_of_its_own():
    assert params([{"learner": "pemt", "budget": [1000, 2000]}], "budget") == {
        "pemt[budget=1000]": 1000,
        "pemt[budget=2000]": 2000,
    }


def test_several_lists_give_every_combination():
    found = learners([{"learner": "emt", "budget": [200, 400], "eviction": ["lru", "fifo"]}])
    assert list(found) == [
        "emt[budget=200,eviction=lru]",
        "emt[budget=200,eviction=fifo]",
        "emt[budget=400,eviction=lru]",
        "emt[budget=400,eviction=fifo]",
    ]
    last = instantiate(found["emt[budget=400,eviction=fifo]"]).params
    assert (last["budget"], last["eviction"], last["class"]) == (400, "fifo", "EMT")


def test_a_single_value_is_named_too_unless_the_entry_has_a_name():
    assert list(learners([{"learner": "pemt", "budget": 64}])) == ["pemt[budget=64]"]
    assert list(learners([{"name": "small", "learner": "pemt", "budget": 64}])) == ["small"]
    assert list(learners([{"name": "small", "_target_": "emt.learners.PEMT", "budget": 64}])) == ["small"]
    both = learners([{"name": "small", "_target_": "emt.learners.PEMT", "budget": [32, 64], "epsilon": 0.2}])
    assert list(both) == ["small[budget=32]", "small[budget=64]"]
    assert {instantiate(entry).params["epsilon"] for entry in both.values()} == {0.2}


def test_an_entry_without_values_is_the_file_itself():
    assert learners([{"learner": "emt"}]) == learners(["emt"])


def test_names_of_values():
    assert list(learners([{"learner": "pemt", "budget": [None, 64], "epsilon": [0.05]}])) == [
        "pemt[budget=null,epsilon=0.05]",
        "pemt[budget=64,epsilon=0.05]",
    ]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([{"learner": "pemt", "budget": [64, 64]}], r"pemt\[budget=64\] is listed more than once"),
        ([{"learner": "pemt", "budget": []}], "budget has no value"),
        ([{"learner": "pemtt"}], "did you mean pemt"),
        ([{"learner": "pemt", "bugdet": 64}], "did you mean budget"),
        ([{"learner": "pemt", "budget": [64, 0]}], r"learner pemt\[budget=0\]: "),
        ([{"lerner": "pemt"}], "must have either learner"),
        ([{"_target_": "emt.learners.PEMT"}], "must have either learner"),
        ([{"learner": "emt", "_target_": "emt.learners.PEMT"}], "must have either learner"),
        ([{"name": "a/b", "learner": "pemt"}], "must be a name of letters"),
        ([{"learner": "pemt", "variant": "a/b"}], "cannot be a part of a name"),
    ],
)
def test_refusals(entries, message):
    with pytest.raises(ConfigError, match=message):
        sweep(learners(entries), {})


def test_a_sweep_does_not_change_what_a_name_says():
    with pytest.raises(ConfigError, match=r"learner\.budget=5: the study gives values of its own to pemt\[budget=64\]"):
        sweep(learners(["parametric", {"learner": "pemt", "budget": 64}]), {"budget": 5})


def test_a_sweep_that_makes_two_learners_the_same_is_refused():
    study = learners(["emt", "emt_as_printed"])
    with pytest.raises(ConfigError, match=r"learner\.variant=as_run makes emt and emt_as_printed the same"):
        sweep(study, {"variant": "as_run"})
    assert list(sweep(study, {"epsilon": 0.2})) == ["emt", "emt_as_printed"]


def test_two_names_of_one_learner_stay_two_in_a_sweep():
    twins = learners([{"name": "one", "learner": "emt"}, {"name": "two", "learner": "emt"}])
    assert list(sweep(twins, {"epsilon": 0.2})) == ["one", "two"]

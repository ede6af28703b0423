import numpy as np
import pytest
from omegaconf import OmegaConf

from emt.data import from_arrays, save
from emt.learners.base import Learner
from experiments.checks import CONF, ConfigError, choices
from experiments.cli import compose
from experiments.config import study, suite
from experiments.learners import Entry, instantiate

TOY = "learners=[{name:toy,_target_:toys.Toy}]"


@pytest.mark.parametrize("name", choices("learner"))
def test_every_learner_config_makes_a_learner_with_all_it_says(name):
    config = OmegaConf.to_container(OmegaConf.load(CONF / "learner" / f"{name}.yaml"))
    learner = instantiate(Entry(config, name))
    assert isinstance(learner, Learner)
    assert config.items() - {("_target_", config["_target_"])} <= learner.params.items()


@pytest.mark.parametrize("name", choices("experiment"))
def test_every_experiment(name):
    checked = study(compose([f"experiment={name}"]))
    assert checked.name == name
    assert checked.folder.as_posix() == f"results/{name}/embedded"


def test_the_experiments_of_the_paper():
    unbounded = study(compose(["experiment=unbounded"]))
    assert list(unbounded.learners) == ["parametric", "emt", "emt_not_self_consistent", "cmt", "pemt", "pcmt"]
    assert (unbounded.seeds, unbounded.horizon) == (50, 4000)
    capacity = study(compose(["experiment=capacity"]))
    assert [entry.config["leaf_capacity"] for entry in capacity.learners.values()] == [25, 50, 100, 200, 300]
    bounded = study(compose(["experiment=bounded"]))
    assert (bounded.seeds, bounded.horizon, bounded.min_rows) == (50, 32000, 32000)
    assert [entry.config.get("budget") for entry in bounded.learners.values()] == [None, 1000, 2000, 16000, 32000]


@pytest.mark.parametrize("name", choices("suite"))
def test_every_suite(name):
    assert suite(compose([f"suite={name}"])).datasets


@pytest.mark.parametrize("name", choices("engine"))
def test_every_engine(name):
    assert study(compose([TOY, f"engine={name}"])).engine.name == name


@pytest.mark.parametrize("config", ["config", "prepare", "report"])
def test_every_verb_has_all_of_the_config(config):
    assert compose(config_name=config).name == "unbounded"


def test_every_number_can_be_overridden():
    changed = study(compose(["experiment=capacity", "seeds=5", "horizon=1000", "learners=[emt,pemt]"]))
    assert (changed.seeds, changed.horizon, list(changed.learners)) == (5, 1000, ["emt", "pemt"])


def test_an_override_goes_to_the_learners_that_have_it():
    changed = study(compose(["learners=[emt,parametric]", "learner.leaf_capacity=25", "learner.epsilon=0.05"]))
    assert changed.learners["emt"].config["leaf_capacity"] == 25
    assert "leaf_capacity" not in changed.learners["parametric"].config
    assert changed.learners["parametric"].config["epsilon"] == 0.05
    assert changed.folder.as_posix() == "results/unbounded/embedded/epsilon=0.05,leaf_capacity=25"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ([TOY, "seeds=0"], "seeds=0: must be a whole number of at least 1"),
        ([TOY, "seeds=many"], "seeds=many"),
        ([TOY, "seeds=2.5"], "seeds=2.5"),
        ([TOY, "seeds=true"], "seeds=True"),
        ([TOY, "horizon=-1"], "horizon=-1"),
        ([TOY, "horizon=null"], "horizon=None"),
        ([TOY, "name=a/b"], "name=a/b"),
        (["learners=[]"], "learners must be a list"),
        (["learners=emt"], "learners must be a list"),
        (["learners=[ent]"], "did you mean .*emt"),
        (["learners=[emt,emt]"], "more than once"),
        (["learners=[{name:toy,_target_:toys.Toi}]"], "toys.Toi"),
        (["learners=[{name:toy,_target_:pathlib.Path}]"], "not a subclass"),
        (["learners=[{name:toy,_target_:toys.Toy,epsilom:0.1}]"], "did you mean epsilon"),
        (["learners=[{name:toy,_target_:toys.Toy,epsilon:2}]"], "epsilon must be between 0 and 1"),
        ([TOY, "learner.epsilon=2"], "epsilon must be between 0 and 1"),
        ([TOY, "learner.epsilom=0.1"], "did you mean epsilon"),
        ([TOY, "shard=0/3"], "shard=0/3"),
        ([TOY, "shard=4/3"], "shard=4/3"),
        ([TOY, "shard=3"], "shard=3"),
        ([TOY, "retry=all"], "must be one of null, errors"),
        ([TOY, "missing=ignore"], "must be one of refuse, skip"),
        ([TOY, "engine.n_jobs=0"], "engine.n_jobs=0"),
        ([TOY, "engine.name=lokal"], "engine.name=lokal"),
        ([TOY, "engine.address=7"], "engine.address=7"),
        ([TOY, "suite.datasets=[]"], "suite.datasets"),
        ([TOY, "suite.datasets=[1.5]"], "1.5"),
        ([TOY, "suite.datasets=[3,3]"], "3 is listed more than once"),
        ([TOY, "suite.datasets=[wines]"], "did you mean wine"),
        ([TOY, "+suite.min_rows=3"], "suite.there is no key 'min_rows'"),
        ([TOY, "+minrows=3"], "did you mean min_rows"),
        ([TOY, "min_rows=-1"], "min_rows=-1"),
        ([TOY, "+sede=3"], "did you mean seeds"),
        ([TOY, "~seeds"], "seeds is missing"),
        (["learners=[emt]", "learner.epsilon=2"], "epsilon"),
        (["learners=[emt]", "learner.epsilon=-0.1"], "epsilon"),
        (["learners=[emt]", "learner.epsilon=much"], "epsilon"),
        (["learners=[emt]", "learner.leaf_capacity=0"], "leaf_capacity"),
        (["learners=[emt]", "learner.variant=as_painted"], "variant"),
        (["learners=[pemt]", "learner.budget=0"], "budget"),
        (["learners=[parametric]", "learner.epsilon=2"], "epsilon"),
        (["learners=[cmt]", "learner.epsilon=2"], "epsilon"),
    ],
)
def test_refusals(overrides, message):
    with pytest.raises(ConfigError, match=message):
        study(compose(overrides))


def test_keys_of_a_verbs_own_must_be_named():
    composed = compose([TOY, "+verify=true"])
    with pytest.raises(ConfigError, match="verify"):
        study(composed)
    assert study(composed, "verify")


def test_a_suite_may_have_sets_of_ones_own_and_no_unknown_ones(store):
    suite_of_mine = ["suite.name=own", "suite.datasets=[mine,wine]"]
    with pytest.raises(ConfigError, match=r"there is no set 'mine'.*emt\.data\.save adds your own"):
        suite(compose(suite_of_mine))
    save(from_arrays(np.eye(20), np.arange(20) % 2, name="mine"))
    assert suite(compose(suite_of_mine)).datasets == ("mine", "wine")

import numpy as np
import pytest
from omegaconf import OmegaConf

from emt.data import from_arrays, save
from emt.learners.base import Learner
from experiments.checks import CONF, ConfigError, check_file_names, choices
from experiments.cli import compose
from experiments.config import study, suite
from experiments.learners import Entry, instantiate
from experiments.plan import plan

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
    paper = ["parametric", "emt", "emt_not_self_consistent", "cmt", "pemt", "pcmt"]
    assert list(unbounded.learners) == [*paper, "pemt_plus"]
    assert (unbounded.seeds, unbounded.horizon) == (50, 4000)
    capacity = study(compose(["experiment=capacity"]))
    assert [entry.config["leaf_capacity"] for entry in capacity.learners.values()] == [25, 50, 100, 200, 300]
    bounded = study(compose(["experiment=bounded"]))
    assert (bounded.seeds, bounded.horizon, bounded.min_rows) == (50, 32000, 32000)
    assert [entry.config.get("budget") for entry in bounded.learners.values()] == [None, 1000, 2000, 16000, 32000, 1000]
    assert bounded.learners["pemt[budget=1000,eviction=fifo]"].config["eviction"] == "fifo"


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
        ([TOY, "shard=1/100000000000000000000"], "shard=1/1000"),
        ([TOY, "horizon=100000000000000000000"], "horizon=1000.*must be 9223372036854775807 at most"),
        ([TOY, "engine.n_jobs=1000000"], "must be 1000 at most"),
        ([TOY, "results=null"], "results=null: must be a path"),
        ([TOY, "results=''"], "results=: must be a path"),
        ([TOY, "results=[a]"], "must be a path"),
        ([TOY, 'results="a\0b"'], "zero byte"),
        ([TOY, "timeout=0"], "timeout=0: must be null or a number of seconds"),
        ([TOY, "timeout=-1.5"], "timeout=-1.5"),
        ([TOY, "timeout=true"], "timeout=True"),
        ([TOY, "timeout=soon"], "timeout=soon"),
        ([TOY, "timeout=.nan"], "timeout=.nan|timeout=nan"),
        ([TOY, "timeout=1e300"], "at most 31622400"),
        ([TOY, "timeout=5", "engine=serial"], "engine=local"),
        (["learners=[{name:toy,_target_:toys.Exits}]"], "learner toy: not today"),
        (["learners=[{name:toy,_target_:toys.Unloggable}]"], "learner toy: .*not JSON serializable"),
        (["learners=[{name:toy,_target_:os.getcwd}]"], "learner toy: "),
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
        ([TOY, "+stories=abrupt"], "stories=abrupt: must be a list"),
        ([TOY, "+stories=[]"], "stories=.*must be a list"),
        ([TOY, "+stories=[none,abrubt]"], "stories=abrubt: must be one of none, abrupt, recurring, gradual, sorted"),
        ([TOY, "+stories=[[none]]"], "stories=.*must be one of"),
        ([TOY, "+stories=[none,none]"], "stories: none is listed more than once"),
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


def test_a_timeout_is_seconds_or_nothing():
    assert study(compose([TOY])).timeout is None
    assert study(compose([TOY, "timeout=90"])).timeout == 90.0


def test_more_runs_than_fit_into_memory_are_refused():
    with pytest.raises(ConfigError, match="seeds=10000000000 makes 110,000,000,000 runs"):
        plan(study(compose([TOY, "seeds=10000000000"])))


def test_nothing_but_a_learner_is_ever_constructed(tmp_path):
    mark = tmp_path / "ran"
    with pytest.raises(ConfigError, match=r"subprocess\.Popen is not a subclass of emt\.learners\.base\.Learner"):
        study(compose([f"learners=[{{name:toy,_target_:subprocess.Popen,args:'touch {mark}',shell:true}}]"]))
    with pytest.raises(ConfigError, match="not a subclass"):
        instantiate(Entry({"_target_": "subprocess.Popen", "args": ["touch", str(mark)]}, "toy"))
    assert not mark.exists()


@pytest.mark.parametrize("name", ["../a", "a/b", "", " ", "..", "a\0", 5, None, "x" * 101])
def test_names_that_cannot_be_file_names_are_refused(name):
    with pytest.raises(ConfigError, match=r"report\.groups: .* must be a name"):
        check_file_names(["good", name], "report.groups")


def test_names_that_are_the_same_file_on_some_systems_are_refused():
    with pytest.raises(ConfigError, match="more than once"):
        check_file_names(["Good", "good"], "report.groups")


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

import random
import shutil
from collections import Counter

import pytest

from experiments.cli import compose
from experiments.config import study
from experiments.costs import Costs
from experiments.engine import execute
from experiments.plan import Run, blocks, plan, recorded_plan, run_key
from experiments.run import run

TOYS = "learners=[{name:toy,_target_:toys.Toy},{name:step,_target_:toys.Stepper}]"


def make(*overrides):
    return plan(study(compose([TOYS, "seeds=7", "horizon=60", "suite.datasets=[wine,iris]", *overrides])))


def known(todo, **seconds):
    costs = Costs()
    for name in todo.sources:
        for learner, cost in seconds.items():
            costs.add(name, learner, 60, cost)
    return costs


@pytest.mark.parametrize("seconds", [{}, {"toy": 0.1, "step": 10.0}, {"toy": 1e-9, "step": 0.0}])
def test_every_run_is_in_one_block(seconds):
    todo = make("+stories=[none,sorted]")
    runs = list(todo.runs())
    handed_out = Counter(
        Run(block.source.name, block.learner.name, seed, block.story)
        for block in blocks(todo, runs, known(todo, **seconds))
        for seed in block.seeds
    )
    assert handed_out == Counter(runs)
    assert set(handed_out.values()) == {1}


def test_blocks_follow_the_cost():
    todo = make()
    sizes = {"toy": set(), "step": set()}
    for block in blocks(todo, todo.runs(), known(todo, toy=0.1, step=10.0)):
        sizes[block.learner.name].add(len(block.seeds))
    assert sizes == {"toy": {1, 2, 3}, "step": {1}}  # seeds 0; 1; 2 and 3; 4 to 6


def test_half_a_study_has_fewer_seeds_of_everything_and_the_slow_come_first():
    todo = make()
    order = list(blocks(todo, todo.runs(), known(todo, toy=0.1, step=10.0)))
    assert {(block.source.name, block.learner.name) for block in order[:4]} == {
        (dataset, learner) for dataset in todo.sources for learner in ("toy", "step")
    }
    assert [block.learner.name for block in order[:4]] == ["step", "step", "toy", "toy"]
    assert [block.seeds for block in order[:4]] == [(0,)] * 4


def test_shards_share_the_runs_out():
    whole = set(make().runs())
    plans = [make(f"shard={part}/3") for part in (1, 2, 3)]
    shards = [{run for run in whole if todo.in_shard(run)} for todo in plans]
    assert set.union(*shards) == whole
    assert sum(map(len, shards)) == len(whole)
    assert max(map(len, shards)) - min(map(len, shards)) <= 4  # one for each dataset and learner at most


def test_the_key_changes_with_all_that_decides_a_run_and_with_nothing_else():
    keys = set(make().runs().values())
    assert set(make("seeds=9").runs().values()) > keys
    assert set(make("engine=serial", "shard=1/2", "retry=errors", "name=other").runs().values()) == keys
    assert not set(make("horizon=50").runs().values()) & keys
    assert not set(make("learner.epsilon=0.2").runs().values()) & keys
    assert len({run.id for run in make().runs()}) == len(keys)


def test_a_story_is_a_part_of_the_key_and_the_id_unless_nothing_happens_in_it():
    plain, told = make().runs(), make("+stories=[abrupt,none]").runs()
    assert plain.items() < told.items()
    assert len(set(told.values())) == 2 * len(plain)
    assert {run.id for run in told} - {run.id for run in plain} == {
        f"{learner}/{dataset}/abrupt/seed-{seed:02d}"
        for learner in ("toy", "step")
        for dataset in ("wine", "iris")
        for seed in range(7)
    }


def test_keys_are_what_they_were_before_there_were_stories():
    params = {"class": "EMT", "epsilon": 0.1}
    assert run_key("a fingerprint", 4000, params, 7) == "33b72931616c0745571c4aebbc9d18ff"
    assert run_key("a fingerprint", 4000, params, 7, "abrupt") != run_key("a fingerprint", 4000, params, 7, "sorted")


def test_short_sets_take_no_part():
    todo = make("min_rows=160")
    assert (list(todo.sources), list(todo.short)) == (["wine"], ["iris"])


def test_a_report_knows_the_short_sets_from_the_log_alone(tmp_path, dataset_store):
    words = [TOYS, "seeds=1", "suite.datasets=[wine,5,6]", "min_rows=160", "missing=skip", f"results={tmp_path}"]
    asked = study(cfg := compose([*words, "engine=serial"]))
    run(asked, cfg)
    shutil.rmtree(dataset_store)
    todo = recorded_plan(asked)
    assert (list(todo.sources), list(todo.short), list(todo.missing)) == (["wine"], ["task-5"], ["task-6"])


def test_the_order_of_work_changes_no_reward():
    todo = make()
    work = list(blocks(todo, todo.runs(), Costs()))
    shuffled = work[:]
    random.Random(1).shuffle(shuffled)

    def rewards(work):
        return {row["key"]: row["rewards"] for rows in execute(iter(work), todo.study.engine) for row in rows}

    todo = make("engine=serial")
    assert rewards(work) == rewards(shuffled)
    assert len(set(rewards(work).values())) > len(work) / 2  # different runs have different rewards

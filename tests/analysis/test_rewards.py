import numpy as np
import pytest
from synthetic_logs import finals

from analysis.rewards import mean_rewards, reward_table
from analysis.wins import compare_all


def means_of(rewards, learners, baseline):
    runs = finals(rewards)
    return mean_rewards(reward_table(runs), compare_all(runs, learners), learners, baseline).set_index("learner")


def test_each_learner_on_each_dataset_with_its_standard_error():
    table = reward_table(finals({("emt", "a"): [0.5, 0.7, 0.6], ("cmt", "a"): [0.2]}))
    assert table["learner"].tolist() == ["cmt", "emt"]
    assert table["mean"].tolist() == pytest.approx([0.2, 0.6])
    assert table["se"].iloc[1] == pytest.approx(0.1 / np.sqrt(3))
    assert table["seeds"].tolist() == [1, 3]


def test_what_differs_everywhere_by_the_same_differs_surely():
    # Datasets are unlike each other, and one learner is better by .01 on each.
    levels = [0.1, 0.4, 0.6, 0.95]
    rewards = {("base", f"d{n}"): [level] * 3 for n, level in enumerate(levels)}
    rewards |= {("good", f"d{n}"): [level + 0.01] * 3 for n, level in enumerate(levels)}
    good = means_of(rewards, ["good", "base"], "base").loc["good"]
    assert good["difference"] == pytest.approx(0.01)
    assert good["difference_se"] == pytest.approx(0)
    assert good["se"] > 0.1


@pytest.mark.parametrize("order", [["emt", "base"], ["base", "emt"]])
def test_the_difference_is_on_the_datasets_that_both_have(order):
    rewards = {("emt", "a"): [0.5, 0.6, 0.7], ("emt", "b"): [0.9] * 3, ("emt", "alone"): [0.0] * 3}
    rewards |= {("base", "a"): [0.4, 0.4, 0.4], ("base", "b"): [1.0, 1.0, 1.0]}
    table = means_of(rewards, order, "base")
    emt = table.loc["emt"]
    assert (emt["datasets"], emt["shared"]) == (3, 2)
    assert emt["difference"] == pytest.approx((0.2 - 0.1) / 2)
    assert emt["difference_se"] == pytest.approx(0.15)
    assert np.isnan(table.loc["base", "difference"])

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from synthetic_logs import finals

from analysis.wins import PAPER, Rule, compare, compare_all, turned, win_table

WIN = {("emt", "win"): [0.8, 0.9, 0.8, 0.9], ("cmt", "win"): [0.5, 0.5, 0.6, 0.5]}
LOSS = {("emt", "loss"): [0.1, 0.2, 0.1, 0.1], ("cmt", "loss"): [0.5, 0.5, 0.6, 0.5]}
TIE = {("emt", "tie"): [0.5, 0.7, 0.5, 0.7], ("cmt", "tie"): [0.7, 0.5, 0.7, 0.51]}
EQUAL = {("emt", "equal"): [0.5, 0.7, 0.6], ("cmt", "equal"): [0.5, 0.7, 0.6]}
TWO = {("emt", "two"): [0.9, 0.8], ("cmt", "two"): [0.1, 0.2]}


def outcomes(table):
    return dict(zip(table["dataset"], table["outcome"], strict=True))


@pytest.mark.parametrize("rule", [Rule(), PAPER, Rule("wilcoxon", level=0.2)])
def test_known_wins_ties_and_losses(rule):
    table = compare(finals({**WIN, **LOSS, **TIE, **EQUAL, **TWO}), "emt", "cmt", rule)
    assert outcomes(table) == {"win": "win", "loss": "loss", "tie": "tie", "equal": "tie", "two": "undecided"}


def test_the_default_is_students_t_of_the_seeds():
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.5, 0.1, (40, 3)), rng.normal(0.45, 0.1, (40, 3))
    runs = finals({(name, f"d{j:02d}"): list(values[j]) for name, values in (("a", a), ("b", b)) for j in range(40)})
    decided = compare(runs, "a", "b")["outcome"] != "tie"
    np.testing.assert_array_equal(decided, stats.ttest_rel(a, b, axis=1).pvalue < 0.05)


def test_with_few_seeds_true_ties_stay_ties_in_all_but_one_of_twenty():
    rng = np.random.default_rng(0)
    rewards = {(name, f"d{j}"): list(rng.normal(0.5, 0.1, 3)) for j in range(2000) for name in ("a", "b")}
    shares = [(compare(finals(rewards), "a", "b", rule)["outcome"] != "tie").mean() for rule in (Rule(), PAPER)]
    assert shares[0] == pytest.approx(0.05, abs=0.015)
    assert shares[1] > 0.15  # which is why the paper's rule is kept for the paper's 50 seeds


def test_a_bar_that_reaches_0_is_a_tie():
    for rule in (Rule(), PAPER):
        table = compare(finals({**WIN, **LOSS, **TIE}), "emt", "cmt", rule)
        assert ((table["mean"].abs() > table["limit"]) == (table["outcome"] != "tie")).all()


def test_the_rule_is_that_of_the_paper():
    # Differences 0, 1 and x: the mean is beyond 1.96 standard errors from a certain x on.
    def outcome(differences):
        table = compare(finals({("a", "d"): differences, ("b", "d"): [0.0] * 3}), "a", "b", PAPER)
        return {"win": 1, "tie": 0, "loss": -1}[table["outcome"].item()]

    for differences in ([0.1, 0.2, 0.3], [0.0, 0.2, 0.3], [-0.1, 0.2, 0.3], [0.05, 0.4, 0.1]):
        mean, se = np.mean(differences), np.std(differences, ddof=1) / np.sqrt(3)
        assert outcome(differences) == int(mean - 1.96 * se > 0) - int(mean + 1.96 * se < 0)
    assert outcome([0.1, 0.2, 0.3]) == 1
    assert outcome([-0.1, 0.2, 0.3]) == 0


def test_pairs_are_formed_by_seed():
    # Seeds differ wildly, but the first learner is better on each by nearly the same.
    noisy = [0.1, 0.9, 0.3, 0.7]
    better = [reward + gain for reward, gain in zip(noisy, [0.01, 0.012, 0.011, 0.01], strict=True)]
    assert compare(finals({("a", "d"): better, ("b", "d"): noisy}), "a", "b")["outcome"].item() == "win"


def test_equal_differences_decide_without_spread():
    table = compare(finals({("a", "d"): [0.5, 0.6, 0.7], ("b", "d"): [0.4, 0.5, 0.6]}), "a", "b")
    assert (table["outcome"].item(), table["se"].item()) == ("win", pytest.approx(0))


@pytest.mark.parametrize("test", ["paper", "ttest", "wilcoxon"])
@pytest.mark.parametrize("seeds", [1, 2])
def test_fewer_than_three_seeds_decide_nothing(test, seeds):
    table = compare(finals({("a", "d"): [0.9, 0.9][:seeds], ("b", "d"): [0.1, 0.2][:seeds]}), "a", "b", Rule(test))
    assert table[["outcome", "seeds"]].to_numpy().tolist() == [["undecided", seeds]]


def test_missing_seeds_leave_the_pairs_that_both_have():
    table = compare(finals({("a", "d"): [0.9, None, 0.8, 0.9], ("b", "d"): [0.5, 0.9, 0.5, None]}), "a", "b")
    assert table["seeds"].item() == 2
    assert table["mean"].item() == pytest.approx(0.35)


def test_a_learner_missing_on_a_dataset_leaves_it_out():
    learners = ["emt", "cmt", "pemt"]
    table = win_table(compare_all(finals({**WIN, **LOSS, ("emt", "alone"): [0.5, 0.6]}), learners), learners)
    pair = table[(table["row"] == "emt") & (table["column"] == "cmt")].iloc[0]
    assert (pair["wins"], pair["losses"], pair["datasets"]) == (1, 1, 2)
    assert table[table["column"] == "pemt"]["datasets"].tolist() == [0, 0]


def test_the_table_is_its_own_mirror():
    table = win_table(compare_all(finals({**WIN, **LOSS, **TIE, **EQUAL, **TWO}), ["emt", "cmt"]), ["emt", "cmt"])
    first, second = table.to_dict("records")
    assert (first["wins"], first["ties"], first["losses"]) == (second["losses"], second["ties"], second["wins"])
    assert first["wins"] + first["ties"] + first["losses"] + first["undecided"] == first["datasets"] == 5
    assert first["undecided"] == second["undecided"] == 1
    assert (first["fewest_seeds"], first["most_seeds"]) == (2, 4)


def test_a_pair_turned_round_is_the_pair_of_the_other_side():
    runs = finals({**WIN, **LOSS, **TIE, **TWO})
    pd.testing.assert_frame_equal(turned(compare(runs, "emt", "cmt")), compare(runs, "cmt", "emt"))


@pytest.mark.parametrize("test", ["ttest", "wilcoxon"])
def test_tests_are_those_of_scipy_and_holm_is_stricter(test):
    rng = np.random.default_rng(0)
    a = {("a", f"d{j:02d}"): list(rng.normal(0.5 + 0.01 * j, 0.1, 12)) for j in range(15)}
    b = {("b", f"d{j:02d}"): list(rng.normal(0.5, 0.1, 12)) for j in range(15)}
    runs = finals({**a, **b})
    scipy_test = {"ttest": stats.ttest_rel, "wilcoxon": stats.wilcoxon}[test]
    p = np.array([scipy_test(a["a", name], b["b", name]).pvalue for name in sorted(name for _, name in a)])
    alone = compare(runs, "a", "b", Rule(test, level=0.05))["outcome"].ne("tie").to_numpy()
    np.testing.assert_array_equal(alone, p < 0.05)
    # Holm: go up the sorted p-values as long as they stay below level / (number left).
    rejected = np.zeros(15, bool)
    for rank, place in enumerate(np.argsort(p)):
        if p[place] >= 0.05 / (15 - rank):
            break
        rejected[place] = True
    together = compare(runs, "a", "b", Rule(test, level=0.05, holm=True))["outcome"].ne("tie").to_numpy()
    np.testing.assert_array_equal(together, rejected)
    assert 0 < together.sum() < alone.sum()
    assert set(compare(runs, "a", "b", Rule(test, level=1e-9))["outcome"]) == {"tie"}


def test_wrong_rules_are_named():
    with pytest.raises(ValueError, match=r"report.rule must be .* not 'anova'"):
        Rule("anova")
    with pytest.raises(ValueError, match=r"report.level"):
        Rule("ttest", level=5)

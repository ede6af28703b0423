import numpy as np
import pandas as pd
import pytest
from scipy import stats
from synthetic_logs import finals

from analysis.paper import TABLE_1
from analysis.wins import Rule, compare, to_latex, to_markdown, win_table

WIN = {("emt", "win"): [0.8, 0.9, 0.8, 0.9], ("cmt", "win"): [0.5, 0.5, 0.6, 0.5]}
LOSS = {("emt", "loss"): [0.1, 0.2, 0.1, 0.1], ("cmt", "loss"): [0.5, 0.5, 0.6, 0.5]}
TIE = {("emt", "tie"): [0.5, 0.7, 0.5, 0.7], ("cmt", "tie"): [0.7, 0.5, 0.7, 0.51]}
EQUAL = {("emt", "equal"): [0.5, 0.7], ("cmt", "equal"): [0.5, 0.7]}


def outcomes(table):
    return dict(zip(table["dataset"], table["outcome"], strict=True))


def test_known_wins_ties_and_losses():
    table = compare(finals({**WIN, **LOSS, **TIE, **EQUAL}), "emt", "cmt")
    assert outcomes(table) == {"win": 1, "loss": -1, "tie": 0, "equal": 0}


def test_the_rule_is_that_of_the_paper():
    # Differences 0, 1 and x: the mean is beyond 1.96 standard errors from a certain x on.
    def outcome(differences):
        return compare(finals({("a", "d"): differences, ("b", "d"): [0.0] * 3}), "a", "b")["outcome"].item()

    for differences in ([0.1, 0.2, 0.3], [0.0, 0.2, 0.3], [-0.1, 0.2, 0.3], [0.05, 0.4, 0.1]):
        mean, se = np.mean(differences), np.std(differences, ddof=1) / np.sqrt(3)
        assert outcome(differences) == int(mean - 1.96 * se > 0) - int(mean + 1.96 * se < 0)
    assert outcome([0.1, 0.2, 0.3]) == 1
    assert outcome([-0.1, 0.2, 0.3]) == 0


def test_pairs_are_formed_by_seed():
    # Seeds differ wildly, but the first learner is better on each by nearly the same.
    noisy = [0.1, 0.9, 0.3, 0.7]
    better = [reward + gain for reward, gain in zip(noisy, [0.01, 0.012, 0.011, 0.01], strict=True)]
    assert compare(finals({("a", "d"): better, ("b", "d"): noisy}), "a", "b")["outcome"].item() == 1


def test_equal_differences_decide_without_spread():
    table = compare(finals({("a", "d"): [0.5, 0.6, 0.7], ("b", "d"): [0.4, 0.5, 0.6]}), "a", "b")
    assert (table["outcome"].item(), table["se"].item()) == (1, 0)


def test_one_seed_is_never_a_win():
    for test in ("paper", "ttest", "wilcoxon"):
        table = compare(finals({("a", "d"): [0.9], ("b", "d"): [0.1]}), "a", "b", Rule(test))
        assert table[["outcome", "seeds"]].to_numpy().tolist() == [[0, 1]]


def test_missing_seeds_leave_the_pairs_that_both_have():
    table = compare(finals({("a", "d"): [0.9, None, 0.8, 0.9], ("b", "d"): [0.5, 0.9, 0.5, None]}), "a", "b")
    assert table["seeds"].item() == 2
    assert table["mean"].item() == pytest.approx(0.35)


def test_a_learner_missing_on_a_dataset_leaves_it_out():
    table = win_table(finals({**WIN, **LOSS, ("emt", "alone"): [0.5, 0.6]}), ["emt", "cmt", "pemt"])
    pair = table[(table["row"] == "emt") & (table["column"] == "cmt")].iloc[0]
    assert (pair["wins"], pair["losses"], pair["datasets"]) == (1, 1, 2)
    assert table[table["column"] == "pemt"]["datasets"].tolist() == [0, 0]


def test_the_table_is_its_own_mirror():
    table = win_table(finals({**WIN, **LOSS, **TIE, **EQUAL}), ["emt", "cmt"])
    first, second = table.to_dict("records")
    assert (first["wins"], first["ties"], first["losses"]) == (second["losses"], second["ties"], second["wins"])
    assert first["wins"] + first["ties"] + first["losses"] == first["datasets"] == 4
    assert (first["fewest_seeds"], first["most_seeds"]) == (2, 4)


@pytest.mark.parametrize("test", ["ttest", "wilcoxon"])
def test_tests_are_those_of_scipy_and_holm_is_stricter(test):
    rng = np.random.default_rng(0)
    a = {("a", f"d{j:02d}"): list(rng.normal(0.5 + 0.01 * j, 0.1, 12)) for j in range(15)}
    b = {("b", f"d{j:02d}"): list(rng.normal(0.5, 0.1, 12)) for j in range(15)}
    runs = finals({**a, **b})
    scipy_test = {"ttest": stats.ttest_rel, "wilcoxon": stats.wilcoxon}[test]
    p = np.array([scipy_test(a["a", name], b["b", name]).pvalue for name in sorted(name for _, name in a)])
    alone = compare(runs, "a", "b", Rule(test, level=0.05, holm=False))["outcome"].abs().to_numpy()
    np.testing.assert_array_equal(alone, p < 0.05)
    # Holm: go up the sorted p-values as long as they stay below level / (number left).
    rejected = np.zeros(15, bool)
    for rank, place in enumerate(np.argsort(p)):
        if p[place] >= 0.05 / (15 - rank):
            break
        rejected[place] = True
    together = compare(runs, "a", "b", Rule(test, level=0.05))["outcome"].abs().to_numpy()
    np.testing.assert_array_equal(together, rejected)
    assert 0 < together.sum() < alone.sum()
    assert compare(runs, "a", "b", Rule(test, level=1e-9))["outcome"].abs().sum() == 0


def test_wrong_rules_are_named():
    with pytest.raises(ValueError, match=r"report.rule must be .* not 'anova'"):
        Rule("anova")
    with pytest.raises(ValueError, match=r"report.level"):
        Rule("ttest", level=5)


def table_1():
    return pd.DataFrame(
        {"row": row, "column": column, "wins": wins} for row, cells in TABLE_1.items() for column, wins in cells.items()
    ).assign(datasets=206, fewest_seeds=3, most_seeds=50)


def test_latex_is_the_papers_table():
    lines = to_latex(table_1(), str.upper).splitlines()
    assert lines[1] == r"\toprule"
    assert lines[-2] == r"\bottomrule"
    assert "206 datasets, 3 to 50 seeds" in lines[-3]
    assert r"PEMT & --- & \textbf{167} & \textbf{87} & \textbf{196} & \textbf{110} \\" in lines
    assert r"EMT & \textbf{31} & --- & 42 & 177 & 44 \\" in lines


def test_markdown_marks_the_best_of_a_column():
    assert "| PEMT | --- | **167** | **87** | **196** | **110** |" in to_markdown(table_1(), str.upper)


def test_learner_names_are_safe_in_latex():
    assert r"my\_own" in to_latex(win_table(finals({("my_own", "d"): [1, 0], ("emt", "d"): [0, 1]}), ["my_own", "emt"]))

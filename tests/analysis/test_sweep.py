import pytest
from synthetic_logs import cast, finals, study_log, study_of, write

from analysis.cast import Cast, Member
from analysis.sweep import draw_sweep, pooled, sub_studies, sweep_rows, sweep_sentence, sweep_table, swept_parameters
from experiments.config import swept


def leaf(size, **more):
    return {"class": "EMT", "leaf_capacity": size, "router": "eigen"} | more


CAST = cast(b=leaf(100), a=leaf(25))


@pytest.fixture
def table():
    rewards = {("b", "x"): [0.5, 0.7], ("b", "y"): [0.8, 0.8], ("b", "z"): [0.0]}
    return sweep_table(finals(rewards | {("a", "x"): [0.3, 0.5], ("a", "y"): [0.7, 0.7]}), CAST, "leaf_capacity")


def test_only_datasets_of_all_values_count_and_values_are_in_order(table):
    assert table["value"].tolist() == [25, 100]
    assert table["mean"].tolist() == pytest.approx([0.55, 0.7])
    assert table["datasets"].tolist() == [2, 2]


def test_values_are_compared_by_differences_paired_by_dataset_and_seed(table):
    assert table["reference"].tolist() == [25, 25]
    assert table["difference"].tolist() == pytest.approx([float("nan"), 0.15], nan_ok=True)
    assert table["difference_se"].tolist() == pytest.approx([float("nan"), 0.05], nan_ok=True)
    assert table["undecided"].tolist() == [0, 2]  # two seeds


def test_the_value_that_no_name_gives_is_what_others_are_compared_with():
    kinds = Cast({"small": Member("emt", {"leaf_capacity": 25}, leaf(25)), "emt": Member("emt", {}, leaf(100))})
    rewards = {("small", "x"): [0.3, 0.5, 0.4], ("emt", "x"): [0.5, 0.7, 0.61]}
    table = sweep_table(finals(rewards), kinds, "leaf_capacity")
    assert table["reference"].tolist() == [100, 100]
    assert table["losses"].tolist() == [1, 0]
    assert [(row["against"], row["wins, ties, losses"]) for row in sweep_rows(table, "leaf_capacity")] == [
        ("100", "0 wins, 0 ties, 1 loss"),
        ("", ""),
    ]
    assert sweep_sentence(table, "leaf_capacity") == "Of leaf capacity, EMT earns most with 100."


def test_figure(table):
    means, differences = draw_sweep(table, CAST, "leaf_capacity").axes
    assert list(means.lines[0].get_ydata()) == pytest.approx([0.55, 0.7])
    assert list(differences.containers[0].lines[0].get_ydata()) == pytest.approx([0, 0.15])
    assert [text.get_text() for text in means.get_xticklabels()] == ["25", "100"]
    assert means.get_xlabel() == "leaf capacity"
    assert differences.get_ylabel() == "difference to 25"


def test_what_differs_in_one_parameter_is_a_sweep_and_nothing_else():
    assert swept_parameters(CAST) == ["leaf_capacity"]
    assert swept_parameters(cast(a=leaf(25), b=leaf(50, router="random"))) == []
    assert swept_parameters(cast(a=leaf(25), b=leaf(25))) == []
    assert swept_parameters(cast(a=leaf(25), b={"class": "PEMT", "leaf_capacity": 50, "router": "eigen"})) == []


def test_words_are_a_sweep_where_a_name_says_them():
    eigen, random = leaf(25), leaf(25, router="random")
    assert swept_parameters(cast(a=eigen, b=random)) == []
    assert swept_parameters(Cast({"a": Member("emt", {"router": "eigen"}, eigen), "b": Member("x", {}, random)})) == [
        "router"
    ]


def test_lines_are_of_learners_that_differ_in_more():
    other = {"c": Member("emt", {"epsilon": 0.2}, leaf(25, epsilon=0.2)), "d": Member("x", {}, leaf(50, epsilon=0.2))}
    many = Cast({**CAST.members, **other})
    rewards = {(name, "x"): [0.5] for name in many.members}
    table = sweep_table(finals(rewards), many, "leaf_capacity")
    assert table["line"].tolist() == ["EMT, epsilon 0.2", "EMT, epsilon 0.2", "a", "a"]
    assert table["value"].tolist() == [25, 50, 25, 100]


def test_values_of_many_kinds_are_drawn_in_order():
    kinds = Cast({str(v): Member("m", {"p": v}, {"class": "M", "p": v}) for v in (None, "word", 2.5, 1)})
    table = sweep_table(finals({(name, "x"): [0.5] for name in kinds.members}), kinds, "p")
    assert table["value"].tolist() == [1, 2.5, "word", "none"]
    assert [text.get_text() for text in draw_sweep(table, kinds, "p").axes[0].get_xticklabels()] == [
        "1",
        "2.5",
        "word",
        "none",
    ]


def test_pooled_learners_with_the_same_parameters_are_one():
    one, two = finals({("a", "x"): [0.5, 0.6], ("b", "x"): [0.7]}), finals({("twin", "x"): [0.5, 0.6, 0.7]})
    members, rewards = pooled([(CAST, one), (cast(twin=leaf(25)), two)])
    assert sorted(members.members) == ["0/a", "0/b"]
    assert rewards[rewards["learner"] == "0/a"]["seed"].tolist() == [0, 1, 2]


def test_sub_studies_are_the_same_study_with_other_parameters(tmp_path):
    asked = study_of(tmp_path, ["emt", "parametric"], n_datasets=3, seeds=4, horizon=32)
    for value in (0.05, 0.2):
        write(sub := swept(asked, {"epsilon": value}), study_log(sub))
    write(other := swept(study_of(tmp_path, ["emt"], 3, 4, 32), {"leaf_capacity": 25}), study_log(other))
    fewer = study_of(tmp_path, ["emt"], n_datasets=2, seeds=3, horizon=32)
    found = sub_studies(fewer)
    assert [members.value("emt", "epsilon") for members, _ in found] == [0.05, 0.2, 0.1]
    for members, rewards in found:
        assert list(members.members) == ["emt"]
        assert set(rewards["dataset"]) == {"set-000", "set-001"}
        assert set(rewards["seed"]) == {0, 1, 2}
    assert found[0][0].label("emt") == "EMT, epsilon 0.05"
    assert sub_studies(study_of(tmp_path, ["emt"], 3, 4, horizon=16)) != []
    assert all(rewards.empty for _, rewards in sub_studies(study_of(tmp_path, ["emt"], 3, 4, horizon=16)))
    assert len(sub_studies(study_of(tmp_path, ["parametric"], 3, 4, 32))) == 2  # it has no leaves

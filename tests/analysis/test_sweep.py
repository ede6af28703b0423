import pytest
from synthetic_logs import finals

from analysis.sweep import draw_sweep, leaf_capacities, sub_studies, sweep_table


@pytest.fixture
def table():
    return sweep_table(
        {
            "leaf_capacity=100": finals({("emt", "a"): [0.5, 0.7], ("emt", "b"): [0.8, 0.8], ("emt", "c"): [0.0]}),
            "leaf_capacity=25": finals({("emt", "a"): [0.3, 0.5], ("emt", "b"): [0.7, 0.7]}),
        }
    )


def test_only_datasets_of_all_values_count_and_values_are_numbers(table):
    assert table["value"].tolist() == ["leaf_capacity=25", "leaf_capacity=100"]
    assert table["mean"].tolist() == pytest.approx([0.55, 0.7])
    assert table["datasets"].tolist() == [2, 2]


def test_figure(table):
    axes = draw_sweep(table).axes[0]
    assert list(axes.containers[0].lines[0].get_ydata()) == pytest.approx([0.55, 0.7])
    assert [text.get_text() for text in axes.get_xticklabels()] == ["25", "100"]
    assert axes.get_xlabel() == "leaf capacity"


def test_leaf_capacities_are_a_sweep_of_one_learner():
    studies = leaf_capacities(finals({("emt_leaf_25", "a"): [0.5], ("emt_leaf_100", "a"): [0.6], ("emt", "a"): [0.7]}))
    assert list(studies) == ["leaf_capacity=25", "leaf_capacity=100"]
    assert sweep_table(studies)["mean"].tolist() == [0.5, 0.6]


def test_sub_studies_are_grouped_by_what_was_swept(tmp_path):
    for name in ("epsilon=0.05", "epsilon=0.2", "epsilon=0.2,leaf_capacity=25", "runs", "leaf=notastudy"):
        (tmp_path / name).mkdir()
        if name != "leaf=notastudy":
            (tmp_path / name / "runs").mkdir()
    found = {key: list(folders) for key, folders in sub_studies(tmp_path).items()}
    assert found == {
        "epsilon": ["epsilon=0.05", "epsilon=0.2"],
        "epsilon,leaf_capacity": ["epsilon=0.2,leaf_capacity=25"],
    }

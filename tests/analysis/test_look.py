import re

import matplotlib.colors
import pytest
from matplotlib.figure import Figure

from analysis.look import STYLES, file_name, new_figure, save, style_of


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        figure, axes = new_figure()
        axes.plot([0, 1], [1, 0], label="line")
        axes.legend()
        save(figure, tmp_path, name)
    assert (tmp_path / "one.pdf").read_bytes() == (tmp_path / "two.pdf").read_bytes()
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    assert b"CreationDate" not in (tmp_path / "one.pdf").read_bytes()


def test_every_learner_of_a_figure_looks_different():
    for group in (("emt", "cmt", "parametric"), ("pemt", "pcmt", "parametric"), ("emt", "emt_not_self_consistent")):
        assert len({str(style_of(learner)) for learner in group}) == len(group)
        assert len({style_of(learner)["color"] for learner in group}) == len(group)
    assert all(matplotlib.colors.is_color_like(colour) for colour, _ in STYLES.values())


def test_learners_without_a_style_look_different():
    assert len({str(style_of("mine", position)) for position in range(25)}) == 25


@pytest.mark.parametrize("name", ["pemt[budget=1000]", "emt[budget=200,eviction=fifo]", "a/b c", "100 %"])
def test_files_have_names_without_brackets_signs_and_spaces(name):
    assert re.fullmatch(r"[A-Za-z0-9_.+-]+", file_name(name))


def test_figures_are_outside_pyplot():
    import matplotlib.pyplot as plt

    figure, _ = new_figure()
    assert isinstance(figure, Figure)
    assert plt.get_fignums() == []

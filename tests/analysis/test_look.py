import re

import matplotlib.colors
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image
from synthetic_logs import budgets, cast

from analysis.cast import LABELS, Cast, Member
from analysis.look import COLOURS, file_name, legend_outside, line_colours, new_figure, save, styles_of


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        figure, axes = new_figure()
        axes.plot([0, 1], [1, 0], label="line")
        axes.legend()
        save(figure, tmp_path, name)
    assert (tmp_path / "one.pdf").read_bytes() == (tmp_path / "two.pdf").read_bytes()
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    assert Image.open(tmp_path / "one.png").mode == "P"  # a palette: a third as long
    assert b"CreationDate" not in (tmp_path / "one.pdf").read_bytes()


def test_every_learner_of_the_project_has_a_colour_of_its_own():
    assert set(COLOURS) == set(LABELS)
    rgb = np.array([matplotlib.colors.to_rgb(colour) for colour in COLOURS.values()])
    apart = np.abs(rgb[:, None] - rgb[None]).max(axis=2)
    assert apart[~np.eye(len(rgb), dtype=bool)].min() > 0.1


def test_a_learner_has_one_colour_whoever_else_is_there():
    few, many = styles_of(cast(emt={}, parametric={})), styles_of(cast(**{name: {} for name in LABELS}))
    assert few["emt"].colour == many["emt"].colour
    assert few["parametric"].colour == many["parametric"].colour


def test_learners_that_the_project_does_not_have_look_different():
    styles = styles_of(cast(**{f"mine{place}": {} for place in range(25)}))
    assert len({str((style.colour, style.dash)) for style in styles.values()}) == 25


def test_values_of_a_parameter_are_shades_from_light_to_dark():
    styles = styles_of(budgets(1000, 2000, 32_000))
    light = [sum(matplotlib.colors.to_rgb(styles[f"pemt[budget={n}]"].colour)) for n in (1000, 2000, 32_000)]
    assert light == sorted(light, reverse=True)
    assert len(set(light)) == 3
    assert styles_of(budgets(1000))["pemt[budget=1000]"].colour == COLOURS["pemt"]


def test_shades_of_black_are_told_apart():
    dark = {f"pemt_plus[budget={n}]": Member("pemt_plus", {"budget": n}) for n in (1, 2, 3, 4, 5)}
    styles = styles_of(Cast(dark))
    light = [sum(matplotlib.colors.to_rgb(style.colour)) for style in styles.values()]
    assert light[-1] == 0
    assert np.diff(light).max() < -0.3
    lines = line_colours(Cast(dark), {"lru": "pemt_plus[budget=1]", "fifo": "pemt_plus[budget=2]"})
    assert len(set(lines.values())) == 2


@pytest.mark.parametrize(("names", "columns"), [(["a", "b", "c"], 3), (["a long name of a learner it is"] * 3, 2)])
def test_a_legend_has_as_many_columns_as_there_is_room_for(names, columns):
    figure, axes = new_figure()
    handles = [axes.plot([0, 1], label=name)[0] for name in names]
    legend_outside(figure, handles, 3)
    (legend,) = figure.legends
    assert len({round(text.get_window_extent().x0) for text in legend.get_texts()}) == columns
    assert legend.get_window_extent().width <= figure.bbox.width
    assert not legend.get_window_extent().overlaps(axes.get_tightbbox())


@pytest.mark.parametrize("name", ["pemt[budget=1000]", "emt[budget=200,eviction=fifo]", "a/b c", "100 %"])
def test_files_have_names_without_brackets_signs_and_spaces(name):
    assert re.fullmatch(r"[A-Za-z0-9_.+-]+", file_name(name))


def test_figures_are_outside_pyplot():
    import matplotlib.pyplot as plt

    figure, _ = new_figure()
    assert isinstance(figure, Figure)
    assert plt.get_fignums() == []

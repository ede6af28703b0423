from pathlib import Path

import pytest
from synthetic_logs import finals, study_log, study_of, write

from analysis.cast import Cast, Member
from analysis.details import TOPICS, details_section, details_table, draw_details
from analysis.report import write_report
from analysis.results import Options
from analysis.wins import Rule
from emt.learners import EMT, PEMT
from emt.options import VARIANTS
from experiments.cli import compose
from experiments.config import study


def member(kind=EMT, variant="as_run", **choices):
    return Member(kind.__name__.lower(), choices, kind(variant=variant, **choices).params)


@pytest.fixture
def three():
    """EMT as run, as printed, and each with `epochs` as the other has it."""
    cast = Cast(
        {
            "run": member(),
            "run_1": member(epochs=1),
            "printed": member(variant="as_printed"),
            "printed_40": member(variant="as_printed", epochs=40),
        }
    )
    rewards = {"run": (0.8, 0.9, 0.8), "run_1": (0.7, 0.8, 0.7), "printed": (0.4, 0.5, 0.4), "printed_40": (0.4,) * 3}
    return cast, finals({(name, "a"): values for name, values in rewards.items()})


def test_a_choice_is_worth_what_as_run_has_more_from_both_sides(three):
    cast, runs = three
    table = details_table(runs, cast).set_index(["choice", "others"])
    assert table.loc[("epochs", "as run"), "worth"] == pytest.approx(0.1)
    assert table.loc[("epochs", "as printed"), "worth"] == pytest.approx(-0.1 / 3)
    assert table.loc[("all eight", "both"), "worth"] == pytest.approx(0.4)
    assert table.loc[("epochs", "as run"), ["wins", "ties", "losses"]].tolist() == [1, 0, 0]
    assert set(table["line"]) == {"EMT"}
    assert len(table) == 3


def test_learners_that_differ_in_more_than_the_choices_are_not_mixed(three):
    cast, runs = three
    others = {"pemt_1": member(PEMT, epochs=1), "small": member(leaf_capacity=25, epochs=1), "odd": member(epochs=7)}
    more = Cast(dict(cast.members) | others)
    assert details_table(runs, more).equals(details_table(runs, cast))


def test_a_study_without_single_choices_has_no_such_part(three):
    cast, runs = three
    assert details_section(runs, cast.only(["run", "printed"]), Rule()) is None
    assert details_section(runs.iloc[:0], cast, Rule()) is None


def test_the_experiment_turns_every_choice_alone_from_both_sides():
    asked = study(compose(["experiment=details"]))
    assert (asked.seeds, asked.horizon) == (10, 4000)
    cast = Cast({name: Member(entry.base, entry.varied, _params(entry)) for name, entry in asked.learners.items()})
    table = details_table(finals({(name, "a"): (0.5, 0.5, 0.5) for name in cast.members}), cast)
    expected = [(choice, others) for choice in TOPICS for others in ("as run", "as printed")] + [("all eight", "both")]
    for line in ("EMT", "PEMT"):
        part = table[table["line"] == line]
        assert list(zip(part["choice"], part["others"], strict=True)) == expected
    assert len(TOPICS) == 8


def _params(entry):
    kind = {"emt": EMT, "pemt": PEMT}[entry.base.removesuffix("_as_printed")]
    return kind(**{key: value for key, value in entry.config.items() if key != "_target_"}).params


def test_the_report_has_table_figure_and_sentences(tmp_path):
    learners = ["emt", "emt_as_printed", {"learner": "emt", "epochs": 1}, {"learner": "emt_as_printed", "epochs": 40}]
    asked = study_of(tmp_path, learners, n_datasets=3, seeds=3, horizon=64)
    write(asked, study_log(asked))
    summary = write_report(asked, Options(meta=False)).read_text()
    assert "EMT, one choice at a time with the others as printed: " in summary
    assert "![What each choice is worth, alone](figures/details.png)" in summary
    assert "sweep_epochs" not in summary  # said already
    page = (asked.folder / "report.html").read_text()
    assert "What each of the choices is worth" in page
    assert 'src="data:image/png;base64,' in page
    for name in ("tables/details.csv", "figures/details.pdf", "figures/details.png"):
        assert Path(asked.folder, name).stat().st_size > 100


def test_the_figure_says_how_many_datasets_and_seeds(three):
    cast, runs = three
    figure = draw_details(details_table(runs, cast))
    assert figure.get_suptitle() == "1 dataset, 3 seeds"


def test_variants_differ_in_the_eight():
    assert {name for name in TOPICS if VARIANTS["as_run"][name] != VARIANTS["as_printed"][name]} == set(TOPICS)

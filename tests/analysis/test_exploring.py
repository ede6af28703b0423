import pytest
from synthetic_logs import finals

from analysis.cast import Cast, Member
from analysis.exploring import draw_exploring, exploring_section, exploring_table
from analysis.wins import Rule
from emt.learners import EMT, Ridge
from experiments.cli import compose
from experiments.config import study
from experiments.learners import instantiate


@pytest.fixture
def three():
    members = {
        "emt": Member("emt", {}, EMT().params),
        "emt_005": Member("emt", {"epsilon": 0.05}, EMT(epsilon=0.05).params),
        "emt_square": Member("emt", {"explore": "squarecb"}, EMT(explore="squarecb").params),
        "ridge": Member("ridge", {}, Ridge().params),
    }
    rewards = {"emt": (0.5, 0.6, 0.5), "emt_005": (0.6, 0.7, 0.6), "emt_square": (0.4, 0.6, 0.5), "ridge": (0.9,) * 3}
    return Cast(members), finals({(name, "a"): values for name, values in rewards.items()})


def test_each_is_compared_with_itself_at_the_papers_epsilon(three):
    cast, runs = three
    table = exploring_table(runs, cast).set_index("explores")
    assert list(table.index) == ["epsilon 0.1", "epsilon 0.05", "SquareCB"]  # ridge explores in one way alone
    assert table["difference"].round(6).tolist() == [0, 0.1, round(-0.1 / 3, 6)]
    assert table.loc["epsilon 0.05", ["wins", "ties", "losses"]].tolist() == [1, 0, 0]


def test_the_sentences_say_who_earns_most_and_how(three):
    cast, runs = three
    text = " ".join(exploring_section(runs, cast, Rule()).sentences)
    assert "Over 1 dataset, 3 seeds, EMT with epsilon 0.05 earns most: 0.6333." in text
    assert "EMT earns most with epsilon 0.05: +0.1000 against epsilon 0.1 (1 win, 0 ties, 0 losses)." in text


def test_a_study_of_one_exploration_has_no_such_part(three):
    cast, runs = three
    assert exploring_section(runs, cast.only(["emt", "ridge"]), Rule()) is None
    assert exploring_section(runs.iloc[:0], cast, Rule()) is None


def test_the_figure_has_a_row_a_learner(three):
    cast, runs = three
    figure = draw_exploring(exploring_table(runs, cast))
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["EMT"]
    assert figure.get_suptitle() == "1 dataset, 3 seeds"


def test_the_experiment_has_the_papers_exploration_of_every_learner_beside_others():
    learners = study(compose(["experiment=explore"])).learners
    cast = Cast({name: Member(entry.base, entry.varied, instantiate(entry).params) for name, entry in learners.items()})
    runs = finals({(name, "a"): (0.5,) * 3 for name in cast.members})
    ways = exploring_table(runs, cast).groupby("line")["explores"].agg(list).to_dict()
    plain = ["epsilon 0.1", "epsilon 0.02", "epsilon 0.05", "SquareCB"]
    assert {line: found for line, found in ways.items() if len(found) == 4} == dict.fromkeys(
        ("Parametric", "EMT", "PEMT"), plain
    )
    assert ways["Ridge"] == ways["PEMT+"] == [*plain, "LinUCB's bonus"]


def test_the_experiment_drift_forgets_in_every_way():
    names = list(study(compose(["experiment=drift"])).learners)
    for base in ("emt", "pemt", "pemt_plus"):
        assert {f"{base}[budget={n},eviction={how}]" for n in (200, 1000) for how in ("lru", "fifo")} < set(names)
    assert {"parametric", "cmt", "pcmt", "pemt_plus[forgetting=0.998]"} < set(names)
    assert "pemt_plus[forgetting=0.998,budget=1000,eviction=fifo]" in names

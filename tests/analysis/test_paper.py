import pytest
from synthetic_logs import budgets, cast, finals

from analysis.paper import CLAIMS, TABLE_1, Claim, claims_of, verdict
from analysis.wins import Rule


def study(first, second, wins, losses, ties=0, seeds=3):
    better, worse, mixed = [0.8, 0.81, 0.79][:seeds], [0.5, 0.52, 0.51][:seeds], [0.4, 0.9, 0.6][:seeds]
    kinds = [(better, worse)] * wins + [(worse, better)] * losses + [(mixed, mixed[::-1])] * ties
    rewards = {}
    for number, (one, other) in enumerate(kinds):
        rewards[first, f"d{number}"], rewards[second, f"d{number}"] = one, other
    return finals(rewards)


@pytest.mark.parametrize(
    ("wins", "losses", "ties", "seeds", "answer"),
    [
        (20, 2, 13, 3, "holds"),
        (20, 6, 9, 3, "does not hold"),  # too many losses
        (8, 0, 27, 3, "does not hold"),  # too few wins
        (2, 20, 13, 3, "does not hold"),
        (20, 0, 0, 3, "too little data"),  # too few datasets
        (3, 0, 8, 3, "too little data"),
        (20, 2, 13, 2, "too little data"),  # too few seeds
    ],
)
def test_pemt_beats_parametric(wins, losses, ties, seeds, answer):
    found = verdict(CLAIMS[0], study("pemt", "parametric", wins, losses, ties, seeds), Rule())
    assert found["verdict"] == answer
    assert (found["wins"], found["losses"], found["datasets"]) == (wins, losses, wins + losses + ties)


def test_more_wins_than_losses_by_chance_alone_decide_nothing():
    claim = Claim("one beats the other", "emt", "emt_as_printed", "not in the paper")
    answers = [verdict(claim, study("emt", "emt_as_printed", w, 3, 30), Rule())["verdict"] for w in (3, 5, 15)]
    assert answers == ["does not hold", "too little data", "holds"]


def test_a_claim_on_learners_that_are_not_there_has_too_little_data():
    assert verdict(CLAIMS[1], study("pemt", "parametric", 40, 0), Rule())["verdict"] == "too little data"


def test_claims_cover_the_paper_and_the_smallest_budget():
    pairs = [(claim.first, claim.second) for claim in claims_of(budgets(2000, 1000))]
    assert pairs == [
        ("pemt", "parametric"),
        ("emt", "cmt"),
        ("emt", "emt_not_self_consistent"),
        ("pemt[budget=1000]", "parametric"),
        ("emt", "emt_as_printed"),
        ("pemt", "pemt_as_printed"),
    ]
    assert claims_of(budgets(50, 1000))[3].text == "50 memories still beat parametric"


def test_the_claim_on_budgets_is_of_pemt_and_stands_without_one():
    kinds = cast(
        a={"class": "EMT", "budget": 5}, b={"class": "PEMT", "budget": 64}, c={"class": "PEMT", "budget": None}
    )
    assert (claims_of(kinds)[3].text, claims_of(kinds)[3].first) == ("64 memories still beat parametric", "b")
    nobody = claims_of(cast(parametric={}))[3]
    assert nobody.text == "1,000 memories still beat parametric"
    assert verdict(nobody, study("pemt", "parametric", 40, 0), Rule())["verdict"] == "too little data"


def test_table_1_is_complete():
    for row, cells in TABLE_1.items():
        assert set(cells) == set(TABLE_1) - {row}
    assert all(TABLE_1[a][b] + TABLE_1[b][a] <= 206 for a in TABLE_1 for b in TABLE_1[a])

import numpy as np
import pandas as pd
import pytest
from synthetic_logs import budgets, cast, finals

from analysis.paper import CLAIMS, PAPER_SEEDS, TABLE_1, Claim, beside, claims_of, table_1_pairs, verdict
from analysis.wins import PAPER, Rule, compare


def study(first, second, wins, losses, ties=0, seeds=3):
    better, worse, mixed = (([*some] * 17)[:seeds] for some in ((0.8, 0.81, 0.79), (0.5, 0.52, 0.51), (0.4, 0.9, 0.6)))
    kinds = [(better, worse)] * wins + [(worse, better)] * losses + [(mixed, mixed[::-1])] * ties
    rewards = {}
    for number, (one, other) in enumerate(kinds):
        rewards[first, f"d{number}"], rewards[second, f"d{number}"] = one, other
    return finals(rewards)


@pytest.mark.parametrize(
    ("wins", "losses", "ties", "seeds", "answer"),
    [
        (20, 2, 13, 3, "holds"),
        (2, 20, 13, 3, "does not hold"),  # the other way round
        (20, 6, 9, 3, "too few seeds"),  # too many losses, but not of the paper's 50 seeds
        (8, 0, 27, 3, "too few seeds"),  # too few wins, and more seeds would find more
        (8, 0, 27, 50, "does not hold"),
        (20, 6, 9, 50, "does not hold"),
        (20, 0, 0, 3, "too little data"),  # too few datasets
        (20, 2, 13, 2, "too few seeds"),
    ],
)
def test_pemt_beats_parametric(wins, losses, ties, seeds, answer):
    found = verdict(CLAIMS[0], study("pemt", "parametric", wins, losses, ties, seeds), Rule())
    assert found["verdict"] == answer
    assert found["datasets"] == wins + losses + ties
    counts = (found["wins"], found["losses"], found["undecided"])
    assert counts == ((wins, losses, 0) if seeds > 2 else (0, 0, found["datasets"]))


def test_more_wins_than_losses_by_chance_alone_decide_nothing():
    claim = Claim("one beats the other", "emt", "emt_as_printed", "not in the paper")
    answers = [verdict(claim, study("emt", "emt_as_printed", w, 3, 30), Rule())["verdict"] for w in (3, 5, 15)]
    assert answers == ["does not hold", "too little data", "holds"]


def test_only_claims_on_learners_that_are_there_are_judged():
    def pairs(kinds):
        return [(claim.first, claim.second) for claim in claims_of(kinds)]

    assert pairs(cast(parametric={}, emt={}, cmt={})) == [("emt", "cmt")]
    assert pairs(budgets(2000, 1000)) == [("pemt[budget=1000]", "parametric")]
    assert pairs(cast(parametric={})) == []
    assert claims_of(budgets(50, 1000))[0].text == "50 memories still beat parametric"


def test_the_claim_on_budgets_is_of_pemt():
    kinds = cast(
        a={"class": "EMT", "budget": 5},
        b={"class": "PEMT", "budget": 64},
        c={"class": "PEMT", "budget": None},
        parametric={},
    )
    assert [(claim.text, claim.first) for claim in claims_of(kinds)] == [("64 memories still beat parametric", "b")]


def test_table_1_is_compared_by_the_papers_rule_at_the_papers_seeds():
    # Of two seeds' worth of noise: beyond 1.96 standard errors, not beyond Student's t of three seeds.
    near = {("pemt", "d"): [0.10, 0.11, 0.02], ("parametric", "d"): [0.0] * 3}
    pair = table_1_pairs(finals(near), cast(pemt={}, parametric={}))["pemt", "parametric"]
    assert compare(finals(near), "pemt", "parametric", PAPER)["outcome"].item() == "win"
    assert (pair["wins"], pair["ties"], pair["rule"], pair["seeds"]) == (0, 1, "ttest", 3)
    differences = np.random.default_rng(0).normal(0, 1, PAPER_SEEDS)
    differences = (differences - differences.mean()) / differences.std(ddof=1) + 1.98 / np.sqrt(PAPER_SEEDS)
    many = {("pemt", "d"): list(differences), ("parametric", "d"): [0.0] * PAPER_SEEDS}
    assert compare(finals(many), "pemt", "parametric")["outcome"].item() == "tie"  # Student's t of 50 is 2.01
    pair = table_1_pairs(finals(many), cast(pemt={}, parametric={}))["pemt", "parametric"]
    assert (pair["wins"], pair["rule"]) == (1, "paper")


def test_pcmt_against_parametric_and_rewards_are_beside_the_paper():
    kinds = cast(pcmt={}, parametric={})
    table = pd.DataFrame({"dataset": list("aabb"), "learner": ["pcmt", "parametric"] * 2, "n_steps": 4000})
    table = table.assign(reward=[0.7, 0.6, 0.8, 0.8])
    rows = beside(table_1_pairs(study("pcmt", "parametric", 4, 1), kinds), table, kinds)
    assert rows[0] == {
        "comparison": "PCMT against Parametric",
        "here": "4 wins, 1 losses (80%, 20%)",
        "paper": "75 wins, 10 losses (36%, 5%)",
        "datasets": 5,
        "seeds": 3,
    }
    assert [(row["here"], row["datasets"]) for row in rows[1:]] == [("0.750", 2), ("0.700", 2)]


def test_table_1_is_complete():
    for row, cells in TABLE_1.items():
        assert set(cells) == set(TABLE_1) - {row}
    assert all(TABLE_1[a][b] + TABLE_1[b][a] <= 206 for a in TABLE_1 for b in TABLE_1[a])

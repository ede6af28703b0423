"""What the paper published, and its claims with the rule by which a study confirms them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from scipy import stats

from analysis.cast import Cast
from analysis.tidy import full_length
from analysis.wins import MIN_SEEDS, PAPER, Rule, compare, outcome_counts

__all__ = [
    "CURVES_AT_4000",
    "PAPER_SEEDS",
    "TABLE_1",
    "TABLE_1_DATASETS",
    "Claim",
    "beside",
    "claims_of",
    "rewards_at_4000",
    "verdict",
]

TABLE_1_DATASETS = 206
PAPER_SEEDS = 50
# Table 1: on how many of the 206 datasets the row beats the column
TABLE_1 = {
    "pemt": {"emt": 167, "pcmt": 87, "cmt": 196, "parametric": 110},
    "emt": {"pemt": 31, "pcmt": 42, "cmt": 177, "parametric": 44},
    "pcmt": {"pemt": 4, "emt": 156, "cmt": 192, "parametric": 75},
    "cmt": {"pemt": 7, "emt": 11, "pcmt": 10, "parametric": 17},
    "parametric": {"pemt": 8, "emt": 151, "pcmt": 10, "cmt": 184},
}
# The pairs that the text speaks of, and PCMT's gain over parametric, which PEMT's is measured by.
COMPARED = (
    ("pemt", "parametric"),
    ("pcmt", "parametric"),
    ("pemt", "pcmt"),
    ("pemt", "emt"),
    ("emt", "parametric"),
    ("emt", "cmt"),
)
# Mean progressive reward at 4,000 interactions on the 168 sets that have them, read off the published plots
CURVES_AT_4000 = {"pemt": 0.72, "pcmt": 0.71, "parametric": 0.705, "emt": 0.665, "cmt": 0.615}
CURVES_DATASETS = 168
# Datasets where self-consistency helps, of the 206
SELF_CONSISTENT_WINS = 180
# PEMT with 1,000 memories: datasets where it beats parametric, of how many, and the reward that it loses on average
BOUNDED_WINS, BOUNDED_DATASETS, BOUNDED_LOSS = 61, 116, 0.0075
# Macro F1 of the forests with all twelve meta-features, and with three
PAPER_F1 = {"full": 0.82, "compact": 0.79}

# Fewer, and a claim about some 200 datasets is neither confirmed nor refuted.
MIN_DATASETS = 30


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper as a contrast of two learners, with the shares of wins and losses that confirm it."""

    text: str
    first: str
    second: str
    published: str
    least_wins: float = 0.0
    most_losses: float = 1.0

    @property
    def rule(self) -> str:
        """The rule in words."""
        parts = ["more wins than losses (one-sided sign test, 0.05)"]
        if self.least_wins:
            parts.append(f"wins on at least {self.least_wins:.0%}")
        if self.most_losses < 1:
            parts.append(f"loses on at most {self.most_losses:.0%}")
        return ", ".join(parts)

    @property
    def seeds(self) -> int:
        """How many seeds can refute it: fewer decide fewer datasets, and a share of wins needs as many as published."""
        return PAPER_SEEDS if self.least_wins else MIN_SEEDS


CLAIMS = (
    Claim("PEMT beats parametric with nearly no losses", "pemt", "parametric", "110 wins, 8 losses of 206", 0.4, 0.1),
    Claim("EMT beats CMT nearly everywhere", "emt", "cmt", "177 wins, 11 losses of 206", 0.7, 0.15),
    Claim("Self-consistency helps on most datasets", "emt", "emt_not_self_consistent", "180 wins of 206", 0.5),
    Claim("EMT as run beats EMT as printed", "emt", "emt_as_printed", "not in the paper"),
    Claim("PEMT as run beats PEMT as printed", "pemt", "pemt_as_printed", "not in the paper"),
)


def claims_of(cast: Cast) -> list[Claim]:
    """Return the claims that a study with these learners can judge.

    That on budgets is about the study's smallest budget of PEMT (1,000 memories in the paper).
    """
    budgets = [name for family in cast.budgets() for name in family if cast.value(name, "class") == "PEMT"]
    smallest = min(budgets, key=cast.budget, default="")
    size = cast.value(smallest, "budget") if smallest else 0
    claim = Claim(f"{size:,} memories still beat parametric", smallest, "parametric", "61 wins of 116 (1,000 memories)")
    return [one for one in (*CLAIMS, claim) if {one.first, one.second} <= cast.members.keys()]


def verdict(claim: Claim, finals: pd.DataFrame, rule: Rule) -> dict[str, Any]:
    """Judge a claim: holds, does not hold, too few seeds or too little data, with the numbers behind it.

    Fewer seeds than the paper's leave more ties: they can confirm a share of wins, and not refute it.

    Examples
    --------
    >>> finals = pd.DataFrame({"dataset": "iris", "learner": ["emt", "cmt"], "seed": 0, "reward": [0.8, 0.5]})
    >>> verdict(CLAIMS[1], finals, Rule())["verdict"]
    'too few seeds'
    """
    table = compare(finals, claim.first, claim.second, rule)
    counts, n = outcome_counts(table), len(table)
    wins, losses = counts["wins"], counts["losses"]
    seeds = int(table["seeds"].median()) if n else 0
    within = wins >= claim.least_wins * n and losses <= claim.most_losses * n and wins > losses
    if n and seeds < MIN_SEEDS:
        answer = "too few seeds"
    elif n < MIN_DATASETS:
        answer = "too little data"
    elif within and _clear(wins, losses):
        answer = "holds"
    elif _clear(losses, wins):
        answer = "does not hold"
    elif seeds < claim.seeds:
        answer = "too few seeds"
    else:  # more wins than losses by chance alone is not a refutation either
        answer = "too little data" if within else "does not hold"
    mean = float(table["mean"].mean()) if n else float("nan")
    numbers = {"datasets": n, "seeds": seeds, "mean": mean}
    told = {"published": claim.published, "rule": claim.rule}
    return {"claim": claim.text, "verdict": answer, **counts, **numbers, **told}


def _clear(more: int, fewer: int) -> bool:
    """Say whether one count is larger than another by more than chance gives."""
    return more > fewer and bool(stats.binomtest(more, more + fewer, alternative="greater").pvalue < 0.05)


def table_1_pairs(finals: pd.DataFrame, cast: Cast) -> dict[tuple[str, str], dict[str, Any]]:
    """Count wins for each pair of Table 1 that a study has, as the paper did where there are its 50 seeds.

    Returns
    -------
    dict
        By (row, column): wins, ties, losses, undecided, datasets, seeds (the fewest) and rule: paper, or ttest where
        there are fewer seeds than the paper's, for which its rule is not meant.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row, cells in TABLE_1.items():
        for column in cells:
            if {row, column} <= cast.members.keys():
                table = compare(finals, row, column, PAPER)
                seeds = int(table["seeds"].min()) if len(table) else 0
                if seeds < PAPER_SEEDS:
                    table = compare(finals, row, column, Rule())
                counts = {**outcome_counts(table), "datasets": len(table), "seeds": seeds}
                found[row, column] = counts | {"rule": "paper" if seeds >= PAPER_SEEDS else "ttest"}
    return {pair: counts for pair, counts in found.items() if counts["datasets"]}


def beside(
    pairs: Mapping[tuple[str, str], Mapping[str, Any]], finals: pd.DataFrame, cast: Cast
) -> list[dict[str, Any]]:
    """Return the published comparisons that a study has, each with what the study found.

    Parameters
    ----------
    pairs : mapping
        As `table_1_pairs` returns it.
    finals : DataFrame
        Final rewards, as `analysis.tidy.final_rewards` returns them.
    cast : Cast
        The learners.

    Returns
    -------
    list of dict
        Keys comparison, here, paper, datasets, seeds.
    """
    rows: list[dict[str, Any]] = []
    for pair in COMPARED:
        if pair in pairs:
            ours, labels = pairs[pair], " against ".join(map(cast.label, pair))
            published = TABLE_1[pair[0]][pair[1]], TABLE_1[pair[1]][pair[0]]
            decided = ours["undecided"] < ours["datasets"]
            here = _shares(ours["wins"], ours["losses"], ours["datasets"]) if decided else "undecided"
            rows.append({"comparison": labels, "here": here})
            rows[-1] |= {"paper": _shares(*published, TABLE_1_DATASETS)}
            rows[-1] |= {"datasets": ours["datasets"], "seeds": ours["seeds"]}
    for learner, row in rewards_at_4000(finals).iterrows():
        rows.append({"comparison": f"Reward of {cast.label(str(learner))} at 4,000", "here": f"{row['reward']:.3f}"})
        rows[-1] |= {"paper": f"{row['paper']:g} on {CURVES_DATASETS}"}
        rows[-1] |= {"datasets": int(row["datasets"]), "seeds": int(row["seeds"])}
    return rows


def rewards_at_4000(finals: pd.DataFrame) -> pd.DataFrame:
    """Return the mean rewards of runs of 4,000 interactions beside those read off the paper's plots.

    They are taken over the datasets that all learners of those plots have, as far as these are here; where fewer than
    half of the datasets are so long, there is nothing to compare.

    Returns
    -------
    DataFrame
        Columns reward, paper, datasets and seeds (the fewest), indexed by learner in the order of the paper's rewards.

    Examples
    --------
    >>> finals = pd.DataFrame({"dataset": "a", "learner": ["emt", "pemt", "pemt", "mine"], "seed": [0, 0, 1, 0],
    ...                        "n_steps": 4000, "reward": [0.6, 0.7, 0.8, 0.9]})
    >>> rewards_at_4000(finals)["reward"].to_dict()
    {'pemt': 0.75, 'emt': 0.6}
    """
    known = [name for name in CURVES_AT_4000 if name in set(finals["learner"])]
    whole = finals[(finals["n_steps"] == 4000) & finals["learner"].isin(known)]
    found = whole.groupby(["dataset", "learner"])["reward"].agg(reward="mean", seeds="size").reset_index()
    shared = found.groupby("dataset")["learner"].transform("size") == len(known)
    if not len(found) or full_length(finals, 4000) < 4000:
        shared &= False
    means = (
        found[shared]
        .groupby("learner")
        .agg(reward=("reward", "mean"), seeds=("seeds", "min"), datasets=("dataset", "size"))
    )
    return means.reindex([name for name in known if name in means.index]).assign(
        paper=lambda table: table.index.map(CURVES_AT_4000)
    )


def _shares(wins: int, losses: int, datasets: int) -> str:
    return f"{wins} wins, {losses} losses ({wins / datasets:.0%}, {losses / datasets:.0%})"

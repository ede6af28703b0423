"""What the paper published, and its claims with the rule by which a study confirms them."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from scipy import stats

from analysis.cast import Cast
from analysis.wins import Rule, compare, outcome_counts

__all__ = ["TABLE_1", "TABLE_1_DATASETS", "Claim", "claims_of", "verdict"]

TABLE_1_DATASETS = 206
# Table 1: on how many of the 206 datasets the row beats the column
TABLE_1 = {
    "pemt": {"emt": 167, "pcmt": 87, "cmt": 196, "parametric": 110},
    "emt": {"pemt": 31, "pcmt": 42, "cmt": 177, "parametric": 44},
    "pcmt": {"pemt": 4, "emt": 156, "cmt": 192, "parametric": 75},
    "cmt": {"pemt": 7, "emt": 11, "pcmt": 10, "parametric": 17},
    "parametric": {"pemt": 8, "emt": 151, "pcmt": 10, "cmt": 184},
}

# Fewer than these, and a claim about some 200 datasets is neither confirmed nor refuted.
MIN_DATASETS, MIN_SEEDS = 30, 3


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


CLAIMS = (
    Claim("PEMT beats parametric with nearly no losses", "pemt", "parametric", "110 wins, 8 losses of 206", 0.4, 0.1),
    Claim("EMT beats CMT nearly everywhere", "emt", "cmt", "177 wins, 11 losses of 206", 0.7, 0.15),
    Claim("Self-consistency helps on most datasets", "emt", "emt_not_self_consistent", "180 wins of 206", 0.5),
)
AS_RUN_CLAIMS = (
    Claim("EMT as run beats EMT as printed", "emt", "emt_as_printed", "not in the paper"),
    Claim("PEMT as run beats PEMT as printed", "pemt", "pemt_as_printed", "not in the paper"),
)


def claims_of(cast: Cast) -> list[Claim]:
    """Return the claims, that on budgets about the study's smallest budget of PEMT (1,000 memories in the paper)."""
    budgets = [name for family in cast.budgets() for name in family if cast.value(name, "class") == "PEMT"]
    smallest = min(budgets, key=cast.budget, default="")
    size = cast.value(smallest, "budget") if smallest else 1000
    claim = Claim(f"{size:,} memories still beat parametric", smallest, "parametric", "61 wins of 116 (1,000 memories)")
    return [*CLAIMS, claim, *AS_RUN_CLAIMS]


def verdict(claim: Claim, finals: pd.DataFrame, rule: Rule) -> dict[str, object]:
    """Judge a claim: holds, does not hold, or too little data, with the numbers behind it.

    Examples
    --------
    >>> finals = pd.DataFrame({"dataset": "iris", "learner": ["emt", "cmt"], "seed": 0, "reward": [0.8, 0.5]})
    >>> verdict(CLAIMS[1], finals, Rule())["verdict"]
    'too little data'
    """
    table = compare(finals, claim.first, claim.second, rule)
    counts, n = outcome_counts(table), len(table)
    wins, losses = counts["wins"], counts["losses"]
    seeds = int(table["seeds"].median()) if n else 0
    within = wins >= claim.least_wins * n and losses <= claim.most_losses * n and wins > losses
    if n < MIN_DATASETS or seeds < MIN_SEEDS:
        answer = "too little data"
    elif not within:
        answer = "does not hold"
    else:  # more wins than losses by chance alone is not a refutation either
        clear = stats.binomtest(wins, wins + losses, alternative="greater").pvalue < 0.05
        answer = "holds" if clear else "too little data"
    mean = float(table["mean"].mean()) if n else float("nan")
    numbers = {"datasets": n, "seeds": seeds, "mean": mean}
    return {
        "claim": claim.text,
        "verdict": answer,
        **counts,
        **numbers,
        "published": claim.published,
        "rule": claim.rule,
    }

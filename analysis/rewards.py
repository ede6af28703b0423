"""Mean rewards: of each learner on each dataset, and over datasets beside the baseline, difference by difference."""

from __future__ import annotations

import pandas as pd

from analysis.wins import turned

__all__ = ["mean_rewards", "reward_table"]


def reward_table(finals: pd.DataFrame) -> pd.DataFrame:
    """Return the mean final reward of each learner on each dataset, with its standard error over seeds.

    Parameters
    ----------
    finals : DataFrame
        Final rewards, as `analysis.tidy.final_rewards` returns them.

    Returns
    -------
    DataFrame
        Columns dataset, learner, mean, se, seeds and n_steps.

    Examples
    --------
    >>> finals = pd.DataFrame({"dataset": "iris", "learner": "emt", "n_steps": 150, "reward": [0.5, 0.7]})
    >>> reward_table(finals)[["mean", "se", "seeds"]].round(3).values.tolist()
    [[0.6, 0.1, 2.0]]
    """
    groups = finals.groupby(["dataset", "learner"], sort=True)
    columns = {"mean": ("reward", "mean"), "se": ("reward", "sem"), "seeds": ("reward", "size")}
    return groups.agg(**columns, n_steps=("n_steps", "max")).reset_index()


def mean_rewards(rewards: pd.DataFrame, pairs: pd.DataFrame, learners: list[str], baseline: str) -> pd.DataFrame:
    """Return each learner's mean reward over datasets, and its difference to the baseline on the same datasets.

    Learners meet the same datasets, rows and dice, so what is compared is the difference, and what says how sure it is
    is the standard error of the difference: that of a mean over datasets is mostly how unlike the datasets are.

    Parameters
    ----------
    rewards : DataFrame
        As `reward_table` returns it.
    pairs : DataFrame
        As `analysis.wins.compare_all` returns it.
    learners : list of str
        In the order of the table.
    baseline : str
        One of them.

    Returns
    -------
    DataFrame
        Columns learner, datasets, fewest_seeds, most_seeds, mean and se (over all datasets of the learner), difference
        and difference_se (over the datasets that it shares with the baseline: shared); none for the baseline.
    """
    forth = pairs[pairs["second"] == baseline].set_index("first")
    back = turned(pairs[pairs["first"] == baseline]).set_index("first")
    rows = []
    for learner in learners:
        own = rewards[rewards["learner"] == learner]
        parts = [table.loc[[learner], "mean"] for table in (forth, back) if learner in table.index]
        differences = parts[0].astype(float) if parts else pd.Series(dtype=float)
        rows.append({"learner": learner, "datasets": len(own)})
        rows[-1] |= {"fewest_seeds": own["seeds"].min(), "most_seeds": own["seeds"].max()}
        rows[-1] |= {"mean": own["mean"].mean(), "se": own["mean"].sem()}
        rows[-1] |= {"difference": differences.mean(), "difference_se": differences.sem(), "shared": len(differences)}
    return pd.DataFrame(rows)

"""Make ``coba_golden.json``: coba's own meta-features of real datasets, the rows and columns that our learners see.

``python tests/analysis/coba_golden.py``, with coba 8 installed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from emt import Environment
from emt.data import load

GOLDEN = Path(__file__).with_suffix(".json")
DATASETS = ("digits", "wine", "iris", "breast-cancer-diagnostic", "balance-scale", "tic-tac-toe")

# our name: coba's
NAMES = {
    "top_eigenvector_share": "pca_top_1_pct",
    "eigenvectors_95": "pca_dims_95",
    "mutual_information": "mutual_XY_info_mean",
    "one_nn_accuracy": "1nn_accuracy",
    "stump_accuracy": "best_node_accuracy",
    "naive_bayes_accuracy": "naive_bayes_accuracy",
    "label_entropy": "class_entropy_N",
    "noise_to_signal": "noise_signal_ratio",
    "binary_features": "feature_onehot_count",
    "nonzero_share": "percent_nonzero_feat",
    "best_feature_overlap": "max_single_feature_eff",
    "fisher": "max_fisher_discrim",
}


class Interactions:
    """A dataset as coba's evaluator wants it."""

    def __init__(self, environment: Environment):
        self.environment = environment

    def read(self) -> Iterator[dict[str, object]]:
        levels = self.environment.space.n_levels
        actions = list(range(self.environment.space.n_actions))
        for context, label in self.environment:
            onehot = [np.eye(n)[code] for n, code in zip(levels, context.categorical, strict=True)]
            row = [float(value) for part in (context.numeric, *onehot) for value in part]
            yield {"context": row, "actions": actions, "rewards": lambda action, right=label: float(action == right)}


def coba_features(name: str) -> dict[str, float]:
    from coba import ClassMetaEvaluator

    features = ClassMetaEvaluator().evaluate(Interactions(Environment(load(name), seed=0, horizon=4000)))
    return {ours: float(features[theirs]) for ours, theirs in NAMES.items()}


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps({name: coba_features(name) for name in DATASETS}, indent=1) + "\n")

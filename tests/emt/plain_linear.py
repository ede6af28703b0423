"""The parametric model in plain Python, feature by feature: the tests' oracle for numbers that do not overflow."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations_with_replacement
from math import exp, sqrt

import numpy as np

Features = list[tuple[object, float]]


class PlainLinear:
    """Weights by name: (action, i, j) for the product of coordinates i and j of an action; two names for the shared."""

    def __init__(self, n_actions: int, constant: bool):
        self.constant = constant
        self.weight, self.adaptive, self.norm = (defaultdict(float) for _ in range(3))
        self.total_weight = self.total_norm = 0.0

    def features(self, numeric, codes, action: int, remembered: float) -> Features:
        coordinates = [(-1, 1.0), *((i, float(x)) for i, x in enumerate(numeric)), *((c, 1.0) for c in codes)]
        pairs = combinations_with_replacement([(int(i), x) for i, x in coordinates if x], 2)
        products = [((action, i, j), float(np.float32(x * y))) for (i, x), (j, y) in pairs]
        return [*products, ("constant", float(self.constant)), ("memory", remembered)]

    def cost(self, numeric, codes, action: int, remembered: float) -> float:
        return sum(self.weight[name] * x for name, x in self.features(numeric, codes, action, remembered))

    def learn(self, numeric, codes, action: int, remembered: float, reward: float, weight: float) -> None:
        error = -reward - max(-1.0, min(0.0, self.cost(numeric, codes, action, remembered)))
        if error == 0:
            return
        features = [(name, x) for name, x in self.features(numeric, codes, action, remembered) if x]
        norm, step, rates = 0.0, 0.0, []
        for name, x in features:
            size = max(abs(x), 1e-15)
            self.adaptive[name] += 4 * error**2 * weight * size**2
            if size > self.norm[name]:
                self.weight[name] *= self.norm[name] / size
                self.norm[name] = size
            rates.append(1 / (sqrt(self.adaptive[name]) * self.norm[name]))
            norm += (size / self.norm[name]) ** 2
            step += x * x * rates[-1]
        self.total_norm += weight * norm
        self.total_weight += weight
        multiplier = sqrt(self.total_weight / self.total_norm)
        step *= multiplier
        small = 0.5 * weight * step < 1e-6
        update = error * multiplier * (weight if small else (1 - exp(-weight * step)) / step)
        for (name, x), rate in zip(features, rates, strict=True):
            self.weight[name] += update * x * rate

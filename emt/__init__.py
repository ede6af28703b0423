"""Eigen Memory Trees: an online episodic memory for contextual bandits."""

from emt.bandit import Context, Environment, Space
from emt.evaluate import evaluate

__all__ = ["Context", "Environment", "Space", "evaluate"]
__version__ = "0.1.0"

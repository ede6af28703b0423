"""Eigen Memory Trees: an online episodic memory for contextual bandits."""

from emt.environment import Context, Environment, Space
from emt.evaluate import evaluate
from emt.tree import EigenMemoryTree

__all__ = ["Context", "EigenMemoryTree", "Environment", "Space", "evaluate"]
__version__ = "0.2.0"

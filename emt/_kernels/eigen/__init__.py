"""The Eigen Memory Tree (Algorithms 1-3)."""

from emt._kernels.eigen.memory import learn_key, make_room, query_key
from emt._kernels.eigen.state import Tree, allocate

__all__ = ["Tree", "allocate", "learn_key", "make_room", "query_key"]

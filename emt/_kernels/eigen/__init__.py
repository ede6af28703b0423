"""The Eigen Memory Tree (Algorithms 1-3)."""

from emt._kernels.eigen.memory import Keys, learn_keys, make_room, query_keys
from emt._kernels.eigen.neighbours import forget_id, forget_key, nearest, use_memories
from emt._kernels.eigen.packing import unpack, widen
from emt._kernels.eigen.state import NONE, Tree, allocate

__all__ = [
    "NONE",
    "Keys",
    "Tree",
    "allocate",
    "forget_id",
    "forget_key",
    "learn_keys",
    "make_room",
    "nearest",
    "query_keys",
    "unpack",
    "use_memories",
    "widen",
]

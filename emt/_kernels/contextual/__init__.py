"""The Contextual Memory Tree, compiled: the four functions of a memory, and access to what a query finds."""

from emt._kernels.contextual.state import NONE, ContextualTree, allocate, grow, has_room
from emt._kernels.contextual.tree import ask, find, learn

__all__ = ["NONE", "ContextualTree", "allocate", "ask", "find", "grow", "has_room", "learn"]

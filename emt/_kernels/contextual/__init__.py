"""The Contextual Memory Tree, with Vowpal Wabbit's answers."""

from emt._kernels.contextual.packing import unpack
from emt._kernels.contextual.state import ContextualTree, allocate
from emt._kernels.contextual.tree import find

__all__ = ["ContextualTree", "allocate", "find", "unpack"]

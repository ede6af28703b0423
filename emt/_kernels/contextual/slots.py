"""Where Vowpal Wabbit keeps the weight of a feature: its buckets, renumbered so that only those in use take room.

A feature is named by a block and a position. Block 0 holds the x coordinates and, after them, the constant; block
1 + a their products with action a and, after them, the indicator of a.
"""

from __future__ import annotations

import numpy as np

__all__ = ["BITS", "bucket_bits", "make_slots"]

BITS = 25  # given to VW with -b
FIRST_X, FIRST_A, CONSTANT = (
    1050319643,
    1009084850,
    11650396,
)  # VW's numbers of the first x, of action 0, of the constant
PRIME = 16777619  # with which interactions are hashed


def bucket_bits(bits: int, max_nodes: int) -> int:
    """Return how many bits tell buckets apart: the others tell the routers and the scorer apart.

    Examples
    --------
    >>> bucket_bits(25, 2000)
    14
    """
    left = bits - max_nodes.bit_length()
    if left < 1:
        raise ValueError(f"{bits} bits are too few for {max_nodes} nodes; at least {bits - left + 1} are needed")
    return left


def make_slots(n_inputs: int, n_actions: int, bits: int | None, max_nodes: int) -> np.ndarray:
    """Return the slot of every feature: slots are in the order of VW's buckets, and one per bucket that is in use.

    Without bits, features that share a bucket get slots of their own beside each other.

    Examples
    --------
    >>> make_slots(n_inputs=2, n_actions=1, bits=25, max_nodes=2000)
    array([[3, 4, 2],
           [0, 1, 5]], dtype=int32)
    """
    mask = 2 ** bucket_bits(BITS if bits is None else bits, max_nodes) - 1
    x = np.arange(n_inputs, dtype=np.int64) + FIRST_X % 2**BITS
    a = np.arange(n_actions, dtype=np.int64) + FIRST_A % 2**BITS
    numbers = np.empty((1 + n_actions, n_inputs + 1), np.int64)
    numbers[0, :-1], numbers[0, -1] = x, CONSTANT
    numbers[1:, :-1], numbers[1:, -1] = PRIME * x ^ a[:, None], a
    buckets = (numbers & mask).ravel()
    if bits is None:
        slots = np.empty(len(buckets), np.int64)
        slots[np.argsort(buckets, kind="stable")] = np.arange(len(buckets))
    else:
        slots = np.unique(buckets, return_inverse=True)[1]
    return slots.reshape(numbers.shape).astype(np.int32)

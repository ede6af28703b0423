"""Numbers for those of very many features that occur: 0, 1, 2, ... in the order of their first occurrence.

A hash table with open addressing. It grows between contexts; once it may grow no more, further features are not
remembered and share the numbers of others, as features do in Vowpal Wabbit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from emt._kernels.compile import inner, kernel
from emt._kernels.records import record

__all__ = ["SLOT_BYTES", "Numbering", "allocate_numbering", "more_numbers", "number"]

NUMBERS = [
    ("first", "i8"),  # number of the first feature
    ("next", "i8"),  # and of the next
    ("room", "i8"),  # numbers are below this
    ("most", "i8"),  # and always will be below this
    ("at_once", "i8"),  # features that a context may have
    ("sharing", "?"),  # has a feature occurred that has no number of its own?
]

FEW = 2**12
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: the upper bits of a product look random
FEATURE, NUMBER = range(2)  # columns of a slot
FREE = 0  # instead of a feature; features are kept plus one
SLOT_BYTES = 4 * 2 * 8  # of the slots per number, at most: a power of two, at least half of them free


class Numbering(NamedTuple):
    """Its counts, and slots with a feature and its number."""

    counts: Any
    slot: np.ndarray


def allocate_numbering(first: int, at_once: int, most: int) -> Numbering:
    """Return an empty table, of at most so many numbers from the first on; contexts have so many features at once."""
    most = max(most, 1) if at_once else 0
    room = min(max(FEW, 2 * at_once), most)
    counts = record(NUMBERS, first=first, next=first, room=first + room, most=first + most, at_once=at_once)
    return Numbering(counts, _slots(room))


def more_numbers(numbering: Numbering) -> Numbering:
    """Return the table with twice the room, or all that it may have."""
    counts = numbering.counts
    counts["room"] = min(counts["first"] + 2 * (counts["room"] - counts["first"]), counts["most"])
    larger = _slots(int(counts["room"] - counts["first"]))
    _refill(numbering.slot, larger)
    return Numbering(counts, larger)


def _slots(room: int) -> np.ndarray:
    """Return free slots, a power of two, of which at least half stay free."""
    return np.zeros((2 ** (2 * room).bit_length(), 2), np.int64)


@inner
def number(numbering: Numbering, feature: int) -> int:
    """Return a feature's number: its own, if need be the next; or that of another, where all are in use."""
    counts, slot = numbering.counts, numbering.slot
    here = _find(slot, feature)
    if slot[here, FEATURE] == FREE:
        if counts.next == counts.room:
            counts.sharing = True
            return counts.first + here % (counts.room - counts.first)
        slot[here, FEATURE], slot[here, NUMBER] = feature + 1, counts.next
        counts.next += 1
    return slot[here, NUMBER]


@inner
def _find(slot: np.ndarray, feature: int) -> Any:
    """Return the slot of a feature, or the free one where it belongs."""
    last = len(slot) - 1
    here = np.int64((np.uint64(feature) * MULTIPLIER) >> np.uint64(32)) & last
    while slot[here, FEATURE] != FREE and slot[here, FEATURE] != feature + 1:
        here = (here + 1) & last
    return here


@kernel
def _refill(old: np.ndarray, new: np.ndarray) -> None:
    for k in range(len(old)):
        if old[k, FEATURE] != FREE:
            here = _find(new, old[k, FEATURE] - 1)
            new[here, FEATURE], new[here, NUMBER] = old[k, FEATURE], old[k, NUMBER]

"""Numbers of features: each its own, in order of first occurrence, until the table may grow no more."""

import numpy as np
from compiled import from_python
from hypothesis import given, settings
from hypothesis import strategies as st

from emt._kernels import numbering
from emt._kernels.numbering import SLOT_BYTES, allocate_numbering, more_numbers

number = from_python(numbering.number)

features = st.lists(st.one_of(st.integers(0, 30), st.integers(0, 2**62)), max_size=60)


@settings(deadline=None)
@given(st.lists(features, max_size=20), st.integers(0, 1000), st.booleans())
def test_features_are_numbered_in_the_order_of_their_first_occurrence(contexts, first, grows):
    table, numbers = allocate_numbering(first, 60, most=2**20), {}
    for context in contexts:
        if grows:
            table = more_numbers(table)
        for feature in context:
            expected = numbers.setdefault(feature, first + len(numbers))
            assert number(table, feature) == expected
    assert table.counts.next == first + len(numbers)
    assert not table.counts.sharing


def test_growth_doubles_the_room_up_to_the_most():
    table = allocate_numbering(10, 1, most=10_000)
    rooms = [int(table.counts.room)]
    while table.counts.room < table.counts.most:
        table = more_numbers(table)
        rooms.append(int(table.counts.room))
        assert 2 * (rooms[-1] - 10) < len(table.slot) <= SLOT_BYTES // table.slot[0].nbytes * (rooms[-1] - 10)
    assert rooms == [4106, 8202, 10_010]


def test_where_all_numbers_are_in_use_further_features_share_them():
    table = allocate_numbering(100, 5, most=50)
    own = [number(table, feature) for feature in range(50)]
    assert own == list(range(100, 150))
    others = [number(table, feature) for feature in range(50, 1050)]
    assert set(others) <= set(own)
    assert len(set(others)) > 30, "spread over most of them"
    assert others == [number(table, feature) for feature in range(50, 1050)]
    assert table.counts.sharing
    assert own == [number(table, feature) for feature in range(50)]


def test_nothing_to_number_takes_no_room():
    table = allocate_numbering(7, 0, most=10**6)
    assert table.counts.room == table.counts.most == 7
    assert table.slot.nbytes <= SLOT_BYTES


def test_a_table_has_room_for_any_context_at_once():
    table = allocate_numbering(0, 10**5, most=10**6)
    assert table.counts.room >= 10**5
    numbers = [number(table, feature) for feature in np.arange(10**5) * 2**30]
    assert numbers == list(range(10**5))

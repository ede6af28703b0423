import numba
import pytest

from emt._kernels.records import record

FIELDS = [("flag", "?"), ("count", "i8"), ("scale", "f4")]


def test_compiled_code_changes_what_python_reads():
    numbers = record(FIELDS, count=3, flag=True)

    @numba.njit
    def change(numbers):
        numbers.count += 1
        numbers.scale = 0.5

    change(numbers)
    assert (bool(numbers.flag), int(numbers.count), float(numbers.scale)) == (True, 4, 0.5)


def test_an_unknown_name_is_refused():
    with pytest.raises(TypeError, match="there are no fields size"):
        record(FIELDS, size=1)

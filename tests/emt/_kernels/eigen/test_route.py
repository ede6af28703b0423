from compiled import from_python

from emt._kernels.eigen import route

goes_left = from_python(route.goes_left)


def test_the_boundary_itself_goes_right_as_run_and_left_as_printed():
    assert [goes_left(p, 1.0, False) for p in (0.9, 1.0, 1.1)] == [True, False, False]
    assert [goes_left(p, 1.0, True) for p in (0.9, 1.0, 1.1)] == [True, True, False]

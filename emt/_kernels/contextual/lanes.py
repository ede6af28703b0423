"""Eight numbers of single precision at a time: arithmetic that rounds as it would one by one.

Written out, because what a compiler can prove about a loop over many arrays is little, and finding it out takes as
long as the loop. A kernel loads lanes from an array, computes with ``+ - * /`` and the functions below, and stores
them. Arrays are padded to whole lanes.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.extending import models, overload, register_model

__all__ = [
    *("LANES", "absolute", "bits", "equal", "full", "greater", "larger"),
    *("largest", "load", "nonzero", "smaller", "store", "total", "where"),
]

LANES = 8
intrinsic: Any = extending.intrinsic  # what it makes is called without the first argument
VECTOR, INTEGERS, BITS = (ir.VectorType(kind, LANES) for kind in (ir.FloatType(), ir.IntType(32), ir.IntType(1)))


class Lanes(types.Type):
    """Eight numbers (`lanes`), or eight truths (`mask`)."""


lanes, mask = Lanes("float32x8"), Lanes("boolx8")


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    """How they are kept: in one register."""

    def __init__(self, manager: Any, kind: Any):
        super().__init__(manager, kind, VECTOR if kind == lanes else BITS)  # type: ignore[no-untyped-call]


def _instruction(function: Any, name: str) -> None:
    """Let an operator of Python be an instruction on lanes."""

    @intrinsic
    def instruction(_: Any, one: Any, other: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, name)(*arguments)

        return lanes(lanes, lanes), code

    @overload(function, inline="always", strict=False)
    def choose(one: Any, other: Any) -> Any:
        return (lambda one, other: instruction(one, other)) if one == other == lanes else None


_instruction(operator.add, "fadd")
_instruction(operator.sub, "fsub")
_instruction(operator.mul, "fmul")
_instruction(operator.truediv, "fdiv")


def _address(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), VECTOR.as_pointer())


@intrinsic
def load(_: Any, array: Any, index: Any) -> Any:
    """Return the eight numbers of a contiguous array that start at an index."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, signature.args[0], *arguments), align=4)

    return lanes(array, types.intp), code


@intrinsic
def store(_: Any, array: Any, index: Any, values: Any) -> Any:
    """Write eight numbers into a contiguous array, from an index on."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _address(context, builder, signature.args[0], *arguments[:2]), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), code


@intrinsic
def full(_: Any, value: Any) -> Any:
    """Return eight times the same number."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), arguments[0], ir.IntType(32)(0))
        return builder.shuffle_vector(first, first, ir.Constant(INTEGERS, [0] * LANES))

    return lanes(types.float32), code


@intrinsic
def absolute(_: Any, values: Any) -> Any:
    """Return |values|."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = builder.bitcast(arguments[0], INTEGERS)
        return builder.bitcast(builder.and_(bits, ir.Constant(INTEGERS, [0x7FFFFFFF] * LANES)), VECTOR)

    return lanes(lanes), code


@intrinsic
def greater(_: Any, one: Any, other: Any) -> Any:
    """Return where one > other."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fcmp_ordered(">", *arguments)

    return mask(lanes, lanes), code


@intrinsic
def equal(_: Any, one: Any, other: Any) -> Any:
    """Return where one = other."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fcmp_ordered("==", *arguments)

    return mask(lanes, lanes), code


@intrinsic
def nonzero(_: Any, values: Any) -> Any:
    """Return where values are not 0."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fcmp_unordered("!=", arguments[0], ir.Constant(VECTOR, [0.0] * LANES))

    return mask(lanes), code


@intrinsic
def larger(_: Any, one: Any, other: Any) -> Any:
    """Return one where it is greater than the other, else the other."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *arguments), *arguments)

    return lanes(lanes, lanes), code


@intrinsic
def smaller(_: Any, one: Any, other: Any) -> Any:
    """Return one where it is less than the other, else the other."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", *arguments), *arguments)

    return lanes(lanes, lanes), code


@intrinsic
def where(_: Any, condition: Any, yes: Any, no: Any) -> Any:
    """Return one number or the other, as the condition says."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(*arguments)

    return lanes(mask, lanes, lanes), code


@intrinsic
def bits(_: Any, condition: Any) -> Any:
    """Return a number whose bits say where a condition holds; 0 if nowhere."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(builder.bitcast(arguments[0], ir.IntType(LANES)), ir.IntType(64))

    return types.int64(mask), code


def _folded(builder: Any, vector: Any, fold: Any) -> Any:
    """Return what becomes of the eight when halves, quarters and pairs are folded."""
    n = LANES
    while n > 1:
        n //= 2
        kind = ir.VectorType(ir.IntType(32), n)
        halves = [
            builder.shuffle_vector(vector, vector, ir.Constant(kind, list(range(start, start + n)))) for start in (0, n)
        ]
        vector = fold(*halves)
    return builder.extract_element(vector, ir.IntType(32)(0))


@intrinsic
def largest(_: Any, values: Any) -> Any:
    """Return the largest of the eight."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _folded(builder, arguments[0], lambda a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b))

    return types.float32(lanes), code


@intrinsic
def total(_: Any, values: Any) -> Any:
    """Return the sum of the eight: of halves, of quarters, of pairs."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _folded(builder, arguments[0], builder.fadd)

    return types.float32(lanes), code

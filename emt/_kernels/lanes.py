"""Eight numbers at a time: arithmetic that rounds as it would one by one.

Written out, because what a compiler can prove about a loop over many arrays is little, and finding it out takes as
long as the loop. A kernel loads lanes from an array, computes with ``+ - * /`` and the functions below, and stores
them. As in NumPy, single precision that meets double becomes double, a number stands for eight of them, and what is
stored takes the array's precision. Arrays are padded to whole lanes.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.extending import models, overload, register_model

__all__ = [
    *("LANES", "absolute", "bits", "count", "equal", "fetch", "first", "full", "greater", "larger", "matches"),
    *("largest", "load", "nonzero", "root", "smaller", "smallest", "store", "total", "where"),
]

LANES = 8
intrinsic: Any = extending.intrinsic  # what it makes is called without the first argument
CODE: dict[Any, Any] = {types.float32: ir.FloatType(), types.float64: ir.DoubleType(), types.boolean: ir.IntType(1)}


class Lanes(types.Type):
    """Eight numbers of single or double precision, or eight truths."""

    def __init__(self, kind: Any):
        self.kind = kind
        super().__init__(f"{kind}x{LANES}")


mask = Lanes(types.boolean)


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    """How they are kept: in one register, or two."""

    def __init__(self, manager: Any, lanes: Any):
        super().__init__(manager, lanes, _vector(lanes.kind))  # type: ignore[no-untyped-call]


def _vector(kind: Any) -> Any:
    return ir.VectorType(CODE[kind], LANES)


def _common(*given: Any) -> Any:
    """Return the lanes that numbers and lanes become where they meet."""
    kinds = [getattr(one, "kind", one) for one in given]
    return Lanes(types.float64 if types.float64 in kinds else types.float32)


def _cast(builder: Any, value: Any, given: Any, wanted: Any) -> Any:
    """Turn a number into eight, and single precision into double or back, as wanted."""
    if not isinstance(given, Lanes):
        first = builder.insert_element(ir.Constant(_vector(given), ir.Undefined), value, ir.IntType(32)(0))
        value = builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))
    kind = getattr(given, "kind", given)
    if kind == wanted.kind:
        return value
    return (builder.fpext if wanted.kind == types.float64 else builder.fptrunc)(value, _vector(wanted.kind))


def _pairwise(compute: Any, returns: Any = None) -> Any:
    """Return a function of two, each lanes or a number."""

    @intrinsic
    def function(_: Any, one: Any, other: Any) -> Any:
        lanes = _common(one, other)

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            both = [_cast(builder, *pair, lanes) for pair in zip(arguments, signature.args, strict=True)]
            return compute(builder, *both)

        return (returns or lanes)(one, other), code

    return function


def _operator(function: Any, name: str) -> None:
    """Let an operator of Python be an instruction on lanes."""
    instruction = _pairwise(lambda builder, one, other: getattr(builder, name)(one, other))

    @overload(function, inline="always", strict=False)
    def choose(one: Any, other: Any) -> Any:
        there, numbers = isinstance(one, Lanes) or isinstance(other, Lanes), (Lanes, types.Float)
        fits = there and isinstance(one, numbers) and isinstance(other, numbers)
        return (lambda one, other: instruction(one, other)) if fits else None


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")
_operator(operator.truediv, "fdiv")


def _chosen(builder: Any, comparison: str, one: Any, other: Any) -> Any:
    return builder.select(builder.fcmp_ordered(comparison, one, other), one, other)


greater = _pairwise(lambda builder, one, other: builder.fcmp_ordered(">", one, other), mask)  # where one > other
equal = _pairwise(lambda builder, one, other: builder.fcmp_ordered("==", one, other), mask)  # where one = other
larger = _pairwise(lambda builder, one, other: _chosen(builder, ">", one, other))  # one where greater, else the other
smaller = _pairwise(lambda builder, one, other: _chosen(builder, "<", one, other))  # one where less, else the other


def _address(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _vector(kind.dtype).as_pointer())


@intrinsic
def load(_: Any, array: Any, index: Any) -> Any:
    """Return the eight numbers of a contiguous array that start at an index."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, signature.args[0], *arguments), align=4)

    return Lanes(array.dtype)(array, types.intp), code


@intrinsic
def store(_: Any, array: Any, index: Any, values: Any) -> Any:
    """Write eight numbers into a contiguous array, from an index on."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = _cast(builder, arguments[2], signature.args[2], Lanes(signature.args[0].dtype))
        builder.store(values, _address(context, builder, signature.args[0], *arguments[:2]), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, values), code


@intrinsic
def fetch(_: Any, array: Any, index: Any) -> Any:
    """Have what is at an index of a contiguous array brought into the processor's cache while other work goes on."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        kind, name = ir.FunctionType(ir.VoidType(), [byte, number, number, number]), "llvm.prefetch.p0i8"
        known = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        builder.call(known, [address, number(0), number(2), number(1)])  # to be read; near, not nearest; data
        return context.get_dummy_value()

    return types.void(array, types.intp), code


@intrinsic
def full(_: Any, value: Any) -> Any:
    """Return eight times the same number."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _cast(builder, arguments[0], value, Lanes(value))

    return Lanes(value)(value), code


@intrinsic
def absolute(_: Any, values: Any) -> Any:
    """Return |values|."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        n_bits = 64 if values.kind == types.float64 else 32
        kind = ir.VectorType(ir.IntType(n_bits), LANES)
        bits = builder.bitcast(arguments[0], kind)
        return builder.bitcast(
            builder.and_(bits, ir.Constant(kind, [2 ** (n_bits - 1) - 1] * LANES)), _vector(values.kind)
        )

    return values(values), code


@intrinsic
def nonzero(_: Any, values: Any) -> Any:
    """Return where values are not 0."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fcmp_unordered("!=", arguments[0], ir.Constant(_vector(values.kind), [0.0] * LANES))

    return mask(values), code


@intrinsic
def matches(_: Any, one: Any, i: Any, other: Any, j: Any) -> Any:
    """Return where eight whole numbers of an array, from an index on, are those of another."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.VectorType(ir.IntType(32), LANES)
        loaded = []
        for place in (0, 2):
            data = context.make_array(signature.args[place])(context, builder, arguments[place]).data
            address = builder.bitcast(builder.gep(data, [arguments[place + 1]]), kind.as_pointer())
            loaded.append(builder.load(address, align=4))
        return builder.icmp_signed("==", *loaded)

    return mask(one, types.intp, other, types.intp), code


@intrinsic
def where(_: Any, condition: Any, yes: Any, no: Any) -> Any:
    """Return one number or the other, as the condition says."""
    lanes = _common(yes, no)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        both = [_cast(builder, *pair, lanes) for pair in zip(arguments[1:], (yes, no), strict=True)]
        return builder.select(arguments[0], *both)

    return lanes(mask, yes, no), code


@intrinsic
def bits(_: Any, condition: Any) -> Any:
    """Return a number whose bits say where a condition holds; 0 if nowhere."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(builder.bitcast(arguments[0], ir.IntType(LANES)), ir.IntType(64))

    return types.int64(mask), code


@intrinsic
def count(_: Any, found: Any) -> Any:
    """Return how many bits are 1."""
    return types.int64(types.int64), lambda context, builder, signature, arguments: builder.ctpop(arguments[0])


@intrinsic
def first(_: Any, found: Any) -> Any:
    """Return the place of the first bit that is 1."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(0))

    return types.int64(types.int64), code


@intrinsic
def root(_: Any, values: Any) -> Any:
    """Return the square roots."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, name = _vector(values.kind), f"llvm.sqrt.v{LANES}f{64 if values.kind == types.float64 else 32}"
        known = builder.module.globals.get(name)
        return builder.call(known or ir.Function(builder.module, ir.FunctionType(kind, [kind]), name), arguments)

    return values(values), code


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
        return _folded(builder, arguments[0], lambda one, other: _chosen(builder, ">", one, other))

    return values.kind(values), code


@intrinsic
def smallest(_: Any, values: Any) -> Any:
    """Return the least of the eight."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _folded(builder, arguments[0], lambda one, other: _chosen(builder, "<", one, other))

    return values.kind(values), code


@intrinsic
def total(_: Any, values: Any) -> Any:
    """Return the sum of the eight: of halves, of quarters, of pairs."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _folded(builder, arguments[0], builder.fadd)

    return values.kind(values), code

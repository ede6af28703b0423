"""How the kernels are compiled.

A `kernel` is called from Python. It is compiled on its first call, with all that it calls, into a cache on disk that
notices changes and repairs itself. An `inner` function is called by kernels only: its code is handed to them as it
is, to be optimised there, once per kernel and not once per caller on the way.

Numba's private parts are used here and nowhere else. Where a version lacks one, the kernels work all the same: they
take longer to compile (`_DEFERS`) or to run (`_UNCOUNTED`), or may be out of date after a change (`_cached` warns).
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Callable
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import numba
from numba.core import codegen, cpu, types
from numba.extending import overload

__all__ = ["by_kind", "inline", "inner", "inner_new", "inner_strict", "kernel"]

#: A digest of every kernel's source. Numba looks only at the file that defines a function, and would go on using a
#: cached caller after one of its callees in another file has changed.
SOURCES = hashlib.sha256(
    b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py")))
).hexdigest()

#: What the compiler may do: take sums in any order, so that they vectorise, and fuse them with products. NaN and
#: infinity keep their meaning.
SUMS = {"reassoc", "contract"}

# A function that makes no arrays need not count who refers to them (Numba's ``_nrt``), which costs more than the work
# where small functions hand each other dozens of arrays.
_COUNTED, _UNCOUNTED = ({"_nrt": True}, {"_nrt": False}) if hasattr(cpu.CPUTargetOptions, "_nrt") else ({}, {})

F = TypeVar("F", bound=Callable[..., Any])

_INNER: set[str] = set()  # names of the libraries that are not optimised by themselves
_PRIVATE: set[str] = set()  # names of their functions: where they are linked in, nobody else calls them


def kernel(function: F) -> F:
    """Compile a function that Python calls; later processes load it from disk."""
    return _cached(_named(function), fastmath=SUMS, **_UNCOUNTED)


def inner(function: F) -> F:
    """Compile a function as a part of the kernels that call it."""
    return _deferred(function, fastmath=SUMS, **_UNCOUNTED)


def inner_new(function: F) -> F:
    """Like `inner`, for functions that make arrays, or call one that returns them."""
    return _deferred(function, fastmath=SUMS, **_COUNTED)


def inner_strict(function: F) -> F:
    """Like `inner`, for results that must be the same bits in every kernel: sums keep the order they are written in."""
    return _deferred(function, fastmath=False, **_UNCOUNTED)  # said, or it would be the caller's


def inline(function: F) -> F:
    """Like `inner`, but written out wherever it is called: for inner loops that cost no more than a call would."""
    return _deferred(function, fastmath=SUMS, inline="always", **_UNCOUNTED)


class ByKind(Protocol):
    """A function with an implementation for each kind of its first argument."""

    def __call__(self, part: Any, *arguments: Any) -> Any:
        """Call the implementation for the kind of the part."""

    def of(self, *kinds: type) -> Callable[[F], F]:
        """Register an implementation."""


def by_kind(declaration: Callable[..., Any]) -> ByKind:
    """Declare a function with an implementation for each kind of its first argument, a NamedTuple or None.

    ``declaration.of(kind)`` registers an implementation, for several kinds if need be. In kernels, which one it is, is
    decided when the kernel is compiled; called from Python, the implementation runs as it is written.
    """
    implementations: dict[Any, Callable[..., Any]] = {}

    @wraps(declaration)
    def dispatch(part: Any, *arguments: Any) -> Any:
        return implementations[type(part)](part, *arguments)

    def choose(part: Any, *_: Any) -> Callable[..., Any] | None:
        return implementations.get(type(None) if part == types.none else getattr(part, "instance_class", None))

    def of(*kinds: type) -> Callable[[F], F]:
        def register(function: F) -> F:
            implementations.update(dict.fromkeys(kinds, _named(function)))
            if _DEFERS:
                _INNER.add(function.__qualname__)
            return function

        return register

    jit_options: Any = {"error_model": "numpy", "fastmath": SUMS, **_UNCOUNTED}
    overload(dispatch, strict=False, jit_options=jit_options)(choose)
    dispatch.of = of  # type: ignore[attr-defined]
    return cast(ByKind, dispatch)


def _named(function: F) -> F:
    """Give a function a name that no other has: Numba names its library after it."""
    function.__qualname__ = f"{function.__module__}.{function.__qualname__}"
    return function


def _cached(function: F, **jit_options: Any) -> F:
    dispatcher: Any = numba.njit(cache=True, error_model="numpy", **jit_options)(function)
    try:
        cache = dispatcher._cache
        cache._cache_file._source_stamp = (SOURCES, cache._cache_file._source_stamp)
        load = cache.load_overload
    except AttributeError:
        message = f"numba {numba.__version__} has another cache: after a change of the kernels, empty NUMBA_CACHE_DIR"
        warnings.warn(message, stacklevel=2)
        return cast(F, dispatcher)

    def load_or_repair(*signature: Any) -> Any:
        try:
            found = load(*signature)
        except Exception:  # a truncated or foreign file: forget it and compile again
            cache.flush()
            found = None
        if found is None:
            _announce()
        return found

    cache.load_overload = load_or_repair
    return cast(F, dispatcher)


@lru_cache
def _announce() -> None:
    """Say, once, why nothing seems to happen."""
    print("emt: compiling, once: 5 to 20 seconds a learner. Later runs load the result from disk", file=sys.stderr)


def _deferred(function: F, **jit_options: Any) -> F:
    """Compile without optimising, and without a way for Python to call the result."""
    if not _DEFERS:
        return _cached(_named(function), **jit_options)
    _INNER.add(_named(function).__qualname__)
    jit_options |= {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    dispatcher: Any = numba.njit(**jit_options)(function)

    def refuse(*_: Any, **__: Any) -> None:
        raise TypeError(f"{function.__qualname__} is called by kernels only; call it from one")

    # Without an entry in the table that Python's calls look at, each of them asks to be compiled: and is refused.
    dispatcher.add_overload = lambda result: dispatcher.overloads.__setitem__(tuple(result.signature.args), result)
    dispatcher._compile_for_args = refuse
    return cast(F, dispatcher)


def _defer_optimisation() -> bool:
    """Teach Numba to leave the libraries of inner functions to those they are linked into; return whether it can."""
    library: Any = getattr(codegen, "CPUCodeLibrary", None)
    context: Any = getattr(cpu, "CPUContext", None)
    make_function = getattr(getattr(numba, "_dynfunc", None), "make_function", None)
    names = ("finalize", "_ensure_finalized", "_get_module_for_linking", "_optimize_final_module")
    if not (
        library and make_function and hasattr(context, "get_executable") and all(hasattr(library, n) for n in names)
    ):
        return False
    finalize, get_executable, optimize = library.finalize, context.get_executable, library._optimize_final_module

    def finalize_or_link(self: Any) -> None:
        if self.name not in _INNER:
            finalize(self)
            return
        for part in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(part._reload_init)
            self._final_module.link_in(part._get_module_for_linking(), preserve=True)
        _PRIVATE.update(function.name for function in self._final_module.functions if not function.is_declaration)
        self._finalized = True

    def optimize_as_a_whole(self: Any) -> None:
        for function in self._final_module.functions:
            if function.name in _PRIVATE and not function.is_declaration:
                function.linkage = "internal"
        optimize(self)

    def get_executable_or_none(self: Any, part: Any, description: Any, environment: Any) -> Any:
        if part.name not in _INNER:
            return get_executable(self, part, description, environment)
        part._ensure_finalized()
        name = description.qualname.split(".")[-1]
        return make_function(description.lookup_module(), name, "", 0, environment, (part,))

    library.finalize, context.get_executable = finalize_or_link, get_executable_or_none
    library._optimize_final_module = optimize_as_a_whole
    return True


_DEFERS = _defer_optimisation()

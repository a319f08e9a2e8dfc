"""Calls that several parts of a program have in common, computed as one batch.

XLA compiles a computation at each place that calls it. Distances of bodies are
most of the code of most features, so that a program with several features would contain
them several times. Here the pairs of all features become one batch: a first part of the
program computes the arguments of the calls, one part for each kind of call its results,
and the features go on from these.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
from jax.extend.core import Literal
from jaxtyping import PyTree

from .packed_pytree import pack, unpack
from .single_kernel import is_in_parts, subprogram

INLINED = {"custom_jvp_call": "call_jaxpr", "custom_vmap_call": "call"}
"""Primitives that are replaced by what they compute, and the parameter that holds it.

The program is neither differentiated nor mapped after that.
"""


@dataclass(frozen=True)
class SharedFunction:
    """A function of batches whose entries do not depend on each other."""

    fn: Callable[..., tuple[jax.Array, ...]]
    """From pytrees of arrays with a leading axis of one length to arrays with it."""
    key: Callable[..., Hashable]
    """Returns what arguments must have in common to be joined."""
    join: Callable[[Sequence[tuple[Any, ...]]], tuple[Any, ...]]
    """Returns the arguments of several calls as those of one."""

    def __call__(self, *args: PyTree) -> tuple[jax.Array, ...]:
        leaves, tree = jax.tree.flatten(args)
        return _named_call(self, tree)(*leaves)


_named_calls: dict[str, tuple[SharedFunction, Any]] = {}
"""Functions and the structures of their arguments, by the name of the call."""


@cache
def _named_call(function: SharedFunction, tree: Any) -> Callable[..., Any]:
    def call(*leaves: jax.Array) -> tuple[jax.Array, ...]:
        return function.fn(*jax.tree.unflatten(tree, leaves))

    call.__name__ = f"{function.fn.__name__}_{len(_named_calls)}"
    _named_calls[call.__name__] = function, tree
    return jax.jit(call)


def evaluate_together(calls: Sequence[tuple[Callable[..., Any], tuple]]) -> list[Any]:
    """Return `fn(*args)` for each call, as subprograms that have shared calls together.

    A shared call in a loop, or one that depends on the result of another, stays where
    it is.

    Args:
        calls: functions with their arguments, which may be packed.
    """
    if not is_in_parts():
        return [subprogram(fn, *args) for fn, args in calls]
    parts = [_Part.trace(fn, args) for fn, args in calls]
    functions: dict[Hashable, SharedFunction] = {}

    def joined_arguments(*args: Any) -> tuple[Any, ...]:
        batches: dict[Hashable, list[Any]] = {}
        rest = iter(args)
        for part in parts:
            for call in part.find_calls([next(rest) for _ in part.args]):
                if call is None:
                    part.places.append(None)
                    continue
                function, arguments = call
                key = function, function.key(*arguments)
                functions[key] = function
                batch = batches.setdefault(key, [])
                begin = sum(map(_length, batch))
                rows = slice(begin, begin + _length(arguments))
                part.places.append((list(functions).index(key), rows))
                batch.append(arguments)
        return tuple(functions[key].join(batch) for key, batch in batches.items())

    arguments = subprogram(joined_arguments, *(a for part in parts for a in part.args))
    results = [
        subprogram(lambda args, fn=function.fn: fn(*args), batch)
        for function, batch in zip(functions.values(), arguments, strict=True)
    ]
    return [part.evaluate_rest(results) for part in parts]


def _length(arguments: tuple[Any, ...]) -> int:
    return len(jax.tree.leaves(arguments)[0])


@dataclass(frozen=True)
class _Part:
    """A function of a program, traced, with its shared calls."""

    args: tuple[Any, ...]
    """Packed arguments."""
    jaxpr: Any
    tree: Any
    """Structure of the result."""
    places: list[tuple[int, slice] | None]
    """For each shared call its batch and its rows in it; None: it is not joined."""

    @classmethod
    def trace(cls, fn: Callable[..., Any], args: tuple[Any, ...]) -> "_Part":
        packed = tuple(map(pack, args))
        trees: list[Any] = []

        def flat(tree: Any) -> list[Any]:
            leaves, structure = jax.tree.flatten(tree)
            trees.append(structure)
            return leaves

        def run(*leaves: Any) -> list[Any]:
            return flat(fn(*jax.tree.unflatten(trees[0], leaves)))

        shapes = jax.eval_shape(lambda args: flat(unpack(args)), packed)
        jaxpr = jax.make_jaxpr(run)(*shapes)
        return cls(packed, jaxpr, trees[1], [])

    def find_calls(
        self, args: Sequence[Any]
    ) -> list[tuple[SharedFunction, tuple[Any, ...]] | None]:
        """Return the shared calls with their arguments; None where these depend on
        other calls.
        """
        calls: list[Any] = []

        def record(name: str, inputs: list[Any], num_results: int) -> list[Any]:
            function, tree = _named_calls[name]
            is_known = not any(x is _UNKNOWN for x in inputs)
            arguments = jax.tree.unflatten(tree, inputs)
            calls.append((function, arguments) if is_known else None)
            return [_UNKNOWN] * num_results

        _interpret(self.jaxpr, jax.tree.leaves(args), record)
        return calls

    def evaluate_rest(self, results: Sequence[Any]) -> Any:
        """Return the result of the function, given those of the batches."""
        batches = sorted({place[0] for place in self.places if place is not None})

        def rest(*args: Any) -> Any:
            given = dict(zip(batches, args[len(self.args) :], strict=True))
            places = iter(self.places)

            def look_up(*_: Any) -> list[Any] | None:
                place = next(places)
                return place and [x[place[1]] for x in given[place[0]]]

            own = jax.tree.leaves(args[: len(self.args)])
            return jax.tree.unflatten(self.tree, _interpret(self.jaxpr, own, look_up))

        return subprogram(rest, *self.args, *(results[k] for k in batches))


_UNKNOWN = object()
"""Stands for results of calls, and for what is computed from them."""


def _interpret(
    closed: Any,
    inputs: Sequence[Any],
    answer: Callable[[str, list[Any], int], list[Any] | None],
) -> list[Any]:
    """Return the results of a traced function.

    Args:
        closed: its jaxpr.
        inputs: values, or `_UNKNOWN`.
        answer: returns the results of a shared call by its name, its inputs and the
            number of results; None: the call is evaluated.
    """
    jaxpr = closed.jaxpr
    known = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    known |= zip(jaxpr.invars, inputs, strict=True)

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else known[atom]

    for equation in jaxpr.eqns:
        out = _evaluate(equation, [read(v) for v in equation.invars], answer)
        known |= zip(equation.outvars, out, strict=True)
    return [read(v) for v in jaxpr.outvars]


def _evaluate(equation: Any, inputs: list[Any], answer: Any) -> list[Any]:
    """Return the results of an equation."""
    primitive, params = equation.primitive, equation.params
    count = len(equation.outvars)
    if primitive.name in INLINED:
        return _interpret(params[INLINED[primitive.name]], inputs, answer)
    if params.get("name") in _named_calls:
        if (out := answer(params["name"], inputs, count)) is not None:
            return out
    if any(x is _UNKNOWN for x in inputs):
        return [_UNKNOWN] * count
    out = primitive.bind(*inputs, **params)
    return list(out) if primitive.multiple_results else [out]

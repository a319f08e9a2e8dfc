"""Calls that several parts of a program have in common, computed as one batch.

XLA compiles a computation at each place that calls it. Distances of bodies are
most of the code of most features, so that a program with several features would contain
them several times. Here the pairs of all features become one batch: a first part of the
program computes the arguments of the calls, one part for each kind of call its results,
and the features go on from these.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any, NamedTuple

import jax
from jaxtyping import PyTree

from .arrays import Array
from .packed_pytree import pack, unpack
from .single_kernel import is_in_parts, subprogram

INLINED = {"custom_jvp_call": "call_jaxpr", "custom_vmap_call": "call"}
"""Primitives that are replaced by what they compute, and the parameter that holds it.

The program is neither differentiated nor mapped after that.
"""


@dataclass(frozen=True)
class SharedFunction:
    """A function of batches whose entries do not depend on each other."""

    fn: Callable[..., tuple[Array, ...]]
    """From pytrees of arrays with a leading axis of one length to arrays with it."""
    key: Callable[..., Hashable]
    """Returns what arguments must have in common to be joined."""
    join: Callable[[Sequence[tuple[Any, ...]]], tuple[Any, ...]]
    """Returns the arguments of several calls as those of one."""

    def __call__(self, *args: PyTree) -> tuple[jax.Array, ...]:
        leaves, tree = jax.tree.flatten(args)
        results: tuple[jax.Array, ...] = _named_call(self, tree)(*leaves)
        return results


_named_calls: dict[str, tuple[SharedFunction, Any]] = {}
"""Functions and the structures of their arguments, by the name of the call."""


@cache
def _named_call(function: SharedFunction, tree: Any) -> Callable[..., Any]:
    def call(*leaves: jax.Array) -> tuple[Array, ...]:
        return function.fn(*jax.tree.unflatten(tree, leaves))

    call.__name__ = f"{function.fn.__name__}_{len(_named_calls)}"
    _named_calls[call.__name__] = function, tree
    return jax.jit(call)


def evaluate_together(
    calls: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]],
) -> list[Any]:
    """Return `fn(*args)` for each call, as subprograms that have shared calls together.

    A shared call in a loop, or one that depends on the result of another, stays where
    it is.

    Args:
        calls: functions with their arguments, which may be packed.
    """
    if not is_in_parts():
        return [subprogram(fn, *args) for fn, args in calls]
    parts = [_Part.trace(fn, args) for fn, args in calls]
    places: list[list[tuple[int, slice]]] = [[] for _ in parts]
    functions: dict[Hashable, SharedFunction] = {}

    def joined_arguments(*args: Any) -> tuple[Any, ...]:
        batches: dict[Hashable, list[Any]] = {}
        rest = iter(args)
        for part, own_places in zip(parts, places, strict=True):
            own = [next(rest) for _ in part.args]
            for function, arguments in part.shared_calls(own):
                key = function, function.key(*arguments)
                functions[key] = function
                batch = batches.setdefault(key, [])
                begin = sum(map(_length, batch))
                rows = slice(begin, begin + _length(arguments))
                own_places.append((list(functions).index(key), rows))
                batch.append(arguments)
        return tuple(functions[key].join(batch) for key, batch in batches.items())

    arguments = subprogram(joined_arguments, *(a for part in parts for a in part.args))
    results = [
        subprogram(lambda args, fn=function.fn: fn(*args), batch)
        for function, batch in zip(functions.values(), arguments, strict=True)
    ]
    return [
        part.evaluate_rest(own_places, results)
        for part, own_places in zip(parts, places, strict=True)
    ]


def _length(arguments: tuple[Any, ...]) -> int:
    return len(jax.tree.leaves(arguments)[0])


class _Constant(NamedTuple):
    """An input of a step that is no result of another one."""

    value: Any


class _Step(NamedTuple):
    """An equation of a traced function; its values have numbers."""

    primitive: Any
    params: dict[str, Any]
    inputs: list[int | _Constant]
    outputs: list[int]

    @property
    def is_shared_call(self) -> bool:
        """Whether a shared function is called."""
        return self.params.get("name") in _named_calls


@dataclass(frozen=True)
class _Part:
    """A function of a program, traced, with its shared calls."""

    args: tuple[Any, ...]
    """Packed arguments; their leaves have the first numbers."""
    steps: list[_Step]
    results: list[int | _Constant]
    tree: Any
    """Structure of the results."""
    calls: list[_Step]
    """Shared calls that depend on no other one."""

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
        steps: list[_Step] = []
        jaxpr, numbers = jax.make_jaxpr(run)(*shapes), count(len(shapes))
        results = _list_steps(jaxpr, list(range(len(shapes))), steps, numbers)
        return cls(packed, steps, results, trees[1], _independent_calls(steps))

    def shared_calls(
        self, args: Sequence[Any]
    ) -> Iterator[tuple[SharedFunction, tuple[Any, ...]]]:
        """Yield the shared functions with their arguments."""
        inputs = [i for step in self.calls for i in step.inputs]
        values = iter(
            _compute(self.steps, dict(enumerate(jax.tree.leaves(args))), inputs)
        )
        for step in self.calls:
            function, tree = _named_calls[step.params["name"]]
            own = [next(values) for _ in step.inputs]
            yield function, jax.tree.unflatten(tree, own)

    def evaluate_rest(
        self, places: Sequence[tuple[int, slice]], results: Sequence[Any]
    ) -> Any:
        """Return the result of the function.

        Args:
            places: batch of each shared call, and its rows in it.
            results: of the batches.
        """
        used = sorted({batch for batch, _ in places})

        def rest(*args: Any) -> Any:
            own, given = args[: len(self.args)], args[len(self.args) :]
            by_batch = dict(zip(used, given, strict=True))
            known = dict(enumerate(jax.tree.leaves(own)))
            for step, (batch, rows) in zip(self.calls, places, strict=True):
                outputs = (x[rows] for x in by_batch[batch])
                known |= zip(step.outputs, outputs, strict=True)
            leaves = _compute(self.steps, known, self.results)
            return jax.tree.unflatten(self.tree, leaves)

        return subprogram(rest, *self.args, *(results[k] for k in used))


def _list_steps(
    closed: Any, inputs: list[Any], steps: list[_Step], numbers: Iterator[int]
) -> list[int | _Constant]:
    """Append the steps of a traced function to a list, and return its results."""
    jaxpr = closed.jaxpr
    known: dict[Any, Any] = dict(zip(jaxpr.invars, inputs, strict=True))
    known |= zip(jaxpr.constvars, map(_Constant, closed.consts), strict=True)

    def read(atom: Any) -> Any:
        # Literals have a value; their class is no public interface of all versions.
        return _Constant(atom.val) if hasattr(atom, "val") else known[atom]

    for equation in jaxpr.eqns:
        own = [read(v) for v in equation.invars]
        inner = equation.params.get(INLINED.get(equation.primitive.name, ""))
        if inner is not None:
            outputs = _list_steps(inner, own, steps, numbers)
        else:
            new = [next(numbers) for _ in equation.outvars]
            steps.append(_Step(equation.primitive, equation.params, own, new))
            outputs = [*new]
        known |= zip(equation.outvars, outputs, strict=True)
    return [read(v) for v in jaxpr.outvars]


def _independent_calls(steps: Sequence[_Step]) -> list[_Step]:
    """Return the shared calls that do not depend on the results of others."""
    calls, dependent = [], set[Any]()
    for step in steps:
        if not dependent.isdisjoint(_numbers(step.inputs)):
            dependent.update(step.outputs)
        elif step.is_shared_call:
            calls.append(step)
            dependent.update(step.outputs)
    return calls


def _numbers(inputs: Iterable[int | _Constant]) -> set[int]:
    return {i for i in inputs if not isinstance(i, _Constant)}


def _compute(
    steps: Sequence[_Step],
    known: Mapping[int, Any],
    wanted: Sequence[int | _Constant],
) -> list[Any]:
    """Return values by their numbers, by the steps that are needed for them."""
    values = dict(known)
    missing, needed = _numbers(wanted) - values.keys(), []
    for step in reversed(steps):
        if not missing.isdisjoint(step.outputs):
            needed.append(step)
            missing |= _numbers(step.inputs) - values.keys()

    def read(number: int | _Constant) -> Any:
        return number.value if isinstance(number, _Constant) else values[number]

    for step in reversed(needed):
        out = step.primitive.bind(*map(read, step.inputs), **step.params)
        out = out if step.primitive.multiple_results else [out]
        # a result that is known already stays: it may be that of a batch
        values |= {
            k: v for k, v in zip(step.outputs, out, strict=True) if k not in known
        }
    return [read(number) for number in wanted]

"""Parts of a program, with one call of what they share.

LLVM compiles a function as often as a program calls it, which takes most of the time
where many features measure distances. Each part is traced; what comes before the shared
calls is computed for all parts, then one call for the rows of all, then what follows.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

from . import private_jax
from .packed_pytree import unpack
from .plain_jit import uses_plain_jit
from .shared_calls import SharedCallKind
from .single_kernel import defer, subprogram

INLINED_PRIMITIVES = frozenset(
    "closed_call custom_jvp_call custom_vjp_call jit pjit".split()
)
"""Primitives whose inner program, if it has shared calls, is evaluated in their place.
"""


def call_together(
    calls: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]],
) -> list[Any]:
    """Return `fn(*args)` of each call as a subprogram, with one of what they share.

    Args:
        calls: functions and their arguments, which may be packed.
    """
    if uses_plain_jit():
        return [subprogram(fn, *args) for fn, args in calls]
    parts = [_Part(fn, args) for fn, args in calls]
    counts = Counter(kind for part in parts for kind in part.kinds())
    shared = {kind for kind, count in counts.items() if count > 1}
    stages = [part.stages(shared) for part in parts]
    for number in range(max(map(len, stages), default=0)):
        sites: dict[SharedCallKind, list[tuple[_Part, JaxprEqn]]] = defaultdict(list)
        for part, stages_of_part in zip(parts, stages, strict=True):
            for stage in stages_of_part[number : number + 1]:
                part.run(stage)
                for kind, eqn in stage.calls:
                    sites[kind].append((part, eqn))
        for kind, sites_of_kind in sites.items():
            _make_calls(kind, sites_of_kind)
    return [part.result for part in parts]


class _Stage(NamedTuple):
    """Equations of a part between shared calls."""

    eqns: list[JaxprEqn]
    results: list[Var]
    """Variables that are read after it."""
    calls: list[tuple[SharedCallKind, JaxprEqn]]
    """Shared calls that follow it; the last stage has none."""


class _Part:
    """A part of a program, and the values that are computed of it.

    Args:
        fn: the function of the part.
        args: its arguments, which may be packed.
    """

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
        structs = jax.eval_shape(unpack, args)
        closed, shapes = jax.make_jaxpr(fn, return_shape=True)(*structs)
        traced = closed
        if _has_shared_calls(closed.jaxpr):
            evaluate = partial(_evaluate, closed.jaxpr, closed.consts)
            traced = jax.make_jaxpr(evaluate)(*jax.tree.leaves(structs))
        used = [True] * len(traced.jaxpr.outvars)
        self.jaxpr, _ = private_jax.dce_jaxpr(traced.jaxpr, used, instantiate=True)
        self.tree = jax.tree.structure(shapes)
        self.constants = dict(zip(self.jaxpr.constvars, traced.consts, strict=True))
        self.values = [*args]
        """Packed values: the arguments, then results of stages and shared calls."""
        inputs = iter(self.jaxpr.invars)
        self.variables: list[Sequence[Var]] = [
            [next(inputs) for _ in jax.tree.leaves(struct)] for struct in structs
        ]
        """Variables of each value."""
        self.result: Any = None

    def kinds(self) -> Iterator[SharedCallKind]:
        """Yield the kinds of the shared calls."""
        for eqn in self.jaxpr.eqns:
            if kind := SharedCallKind.of(eqn):
                yield kind

    def stages(self, shared: Collection[SharedCallKind]) -> list[_Stage]:
        """Return the equations before, between and after the calls of some kinds."""
        kinds = {
            id(eqn): kind
            for eqn in self.jaxpr.eqns
            if (kind := SharedCallKind.of(eqn)) in shared
        }
        earliest: dict[Var, int] = {}
        for eqn in self.jaxpr.eqns:
            stage = max((earliest.get(x, 0) for x in _variables(eqn.invars)), default=0)
            earliest |= dict.fromkeys(eqn.outvars, stage + (id(eqn) in kinds))
        last = max(earliest.values(), default=0)
        stages = [_Stage([], [], []) for _ in range(last + 1)]
        # As late as possible: what is read after a call only is not passed on to there.
        # A call reads after its stage what the others read in it.
        first_read = dict.fromkeys(_variables(self.jaxpr.outvars), last)
        last_read: dict[Var, float] = dict.fromkeys(first_read, last)
        for eqn in reversed(self.jaxpr.eqns):
            kind = kinds.get(id(eqn))
            if kind:
                stage = min(earliest[x] for x in eqn.outvars) - 1
                stages[stage].calls.insert(0, (kind, eqn))
            else:
                stage = min(first_read.get(x, last) for x in eqn.outvars)
                stages[stage].eqns.insert(0, eqn)
                stages[stage].results.extend(
                    x for x in eqn.outvars if last_read.get(x, stage) > stage
                )
            for x in _variables(eqn.invars):
                first_read[x] = min(first_read.get(x, last), stage)
                after = stage + 0.5 if kind else stage
                last_read[x] = max(last_read.get(x, 0), after)
        return stages

    def run(self, stage: _Stage) -> None:
        """Compute a stage; the last one is what ends the part."""
        is_last = not stage.calls

        def run(*args: Any) -> Any:
            known = self.known(args)
            outputs = self.jaxpr.outvars if is_last else stage.results
            results = _evaluate_equations(self.jaxpr, stage.eqns, outputs, known)
            return jax.tree.unflatten(self.tree, results) if is_last else results

        packed = subprogram(run, *self.values)
        if is_last:
            self.result = packed
        else:
            self.add(stage.results, packed)

    def add(self, variables: Sequence[Var], packed: Any) -> None:
        """Add values of variables."""
        self.variables.append(variables)
        self.values.append(packed)

    def known(self, values: Sequence[Any]) -> dict[Var, Any]:
        """Return the variables that have values, with these, unpacked."""
        known = dict(self.constants)
        for variables, value in zip(self.variables, values, strict=False):
            known |= dict(zip(variables, jax.tree.leaves(value), strict=True))
        return known


def _make_calls(kind: SharedCallKind, sites: Sequence[tuple[_Part, JaxprEqn]]) -> None:
    """Make the shared calls of one kind, and add their results to the parts."""
    parts = list(dict.fromkeys(part for part, _ in sites))
    counts = [len(part.values) for part in parts]

    def call(*args: Any) -> Any:
        values = iter(args)
        known = {
            part: part.known([next(values) for _ in range(count)])
            for part, count in zip(parts, counts, strict=True)
        }
        return kind.call_together(
            [[_read(known[part], x) for x in eqn.invars] for part, eqn in sites]
        )

    packed = subprogram(call, *[value for part in parts for value in part.values])
    for k, (part, eqn) in enumerate(sites):
        part.add(eqn.outvars, defer(itemgetter(k), packed))


def _variables(atoms: Iterable[Any]) -> Iterator[Var]:
    """Yield those of some operands that are no literals."""
    return (x for x in atoms if not isinstance(x, Literal))


def _read(known: dict[Var, Any], x: Any) -> Any:
    return x.val if isinstance(x, Literal) else known[x]


def _evaluate(jaxpr: Jaxpr, constants: Sequence[Any], *args: Any) -> list[Any]:
    """Return the results of a program, with inner ones of shared calls inlined."""
    variables = (*jaxpr.constvars, *jaxpr.invars)
    known = dict(zip(variables, (*constants, *args), strict=True))
    waiting: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        inner = _inlined_program(eqn)
        if inner is None:
            waiting.append(eqn)
            continue
        _evaluate_into(known, jaxpr, waiting)
        waiting = []
        operands = [_read(known, x) for x in eqn.invars]
        results = _evaluate(inner.jaxpr, inner.consts, *operands)
        known |= dict(zip(eqn.outvars, results, strict=True))
    _evaluate_into(known, jaxpr, waiting)
    return [_read(known, x) for x in jaxpr.outvars]


def _evaluate_into(
    known: dict[Var, Any], jaxpr: Jaxpr, eqns: Sequence[JaxprEqn]
) -> None:
    """Add the results of some equations of a program to what is known."""
    outputs = [x for eqn in eqns for x in eqn.outvars]
    results = _evaluate_equations(jaxpr, eqns, outputs, known)
    known |= dict(zip(outputs, results, strict=True))


def _evaluate_equations(
    jaxpr: Jaxpr,
    eqns: Sequence[JaxprEqn],
    outputs: Sequence[Any],
    known: dict[Var, Any],
) -> list[Any]:
    """Return the values of outputs of some equations of a program."""
    defined = {x for eqn in eqns for x in eqn.outvars}
    read = [x for eqn in eqns for x in eqn.invars] + [*outputs]
    inputs = [x for x in dict.fromkeys(_variables(read)) if x not in defined]
    piece = jaxpr.replace(constvars=[], invars=inputs, outvars=[*outputs], eqns=[*eqns])
    results: list[Any] = private_jax.eval_jaxpr(piece, (), *[known[x] for x in inputs])
    return results


def _inlined_program(eqn: JaxprEqn) -> ClosedJaxpr | None:
    """Return the program that is evaluated in the place of an equation."""
    if eqn.primitive.name not in INLINED_PRIMITIVES:
        return None
    for param in eqn.params.values():
        if isinstance(param, ClosedJaxpr) and _has_shared_calls(param.jaxpr):
            return param
    return None


def _has_shared_calls(jaxpr: Jaxpr) -> bool:
    return any(SharedCallKind.of(eqn) or _inlined_program(eqn) for eqn in jaxpr.eqns)

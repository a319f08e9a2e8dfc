"""Functions whose calls in several parts of a program can be made as one call.

A call is an equation of a traced program, which `call_together` finds again.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jax.extend.core import JaxprEqn, Primitive
from jax.interpreters import ad, batching, mlir
from jaxtyping import Float, PyTree

from .arrays import Array

Results: TypeAlias = tuple[jax.Array, ...]
"""Arrays whose first axis is that of the rows."""


class SharedFunction:
    """A function of rows, whose calls in several parts of a program are made together.

    Under `vmap` the rows of all instances are those of one call.

    Args:
        compute: `(rows, limit)` to the results. `rows` is a pytree of arrays whose
            first axis is that of the rows; `limit` is a number for each row, or None:
            infinity. Each row of the results depends on the same row of both only.
        tangents: `(primals, tangents)` to the results and their tangents, as the rule
            of `jax.custom_jvp` with symbolic zeros.
    """

    def __init__(
        self,
        compute: Callable[[Any, Array | None], Results],
        tangents: Callable[[Any, Any], tuple[Results, Results]],
    ) -> None:
        self.compute, self.tangents = compute, tangents

    def __call__(
        self, rows: PyTree, limit: Float[Array, " rows"] | None = None
    ) -> Results:
        leaves, tree = jax.tree.flatten(rows)
        limits = [] if limit is None else [limit]
        form = _CallForm(self, tree, limit is not None)
        return tuple(_PRIMITIVE.bind(*map(jnp.asarray, leaves + limits), form=form))


class _CallForm(NamedTuple):
    """A function with the structure of its arguments."""

    function: SharedFunction
    tree: Any
    has_limit: bool

    def arguments(self, leaves: Sequence[Any]) -> tuple[Any, Any]:
        """Return the arguments of the function."""
        count = len(leaves) - self.has_limit
        rows = jax.tree.unflatten(self.tree, leaves[:count])
        return rows, leaves[count] if self.has_limit else None


class SharedCallKind(NamedTuple):
    """Kind of a shared call: all calls of one kind can be made together."""

    function: SharedFunction
    tree: Any
    types: tuple[Any, ...]
    """Shape of a row, and dtype, of each array."""

    @classmethod
    def of(cls, eqn: JaxprEqn) -> "SharedCallKind | None":
        """Return the kind of an equation; None if it is no shared call."""
        if eqn.primitive is not _PRIMITIVE:
            return None
        form = eqn.params["form"]
        avals: list[Any] = [x.aval for x in eqn.invars]
        rows = avals[: len(avals) - form.has_limit]
        types = tuple((x.shape[1:], x.dtype) for x in rows)
        return cls(form.function, form.tree, types)

    def call_together(self, calls: Sequence[Sequence[jax.Array]]) -> list[Results]:
        """Return the results of several calls with these arrays, made as one call."""
        num_rows = len(self.types)
        counts = [len(leaves[0]) for leaves in calls]
        rows = [leaves[:num_rows] for leaves in calls]
        merged = [jnp.concatenate(x) for x in zip(*rows, strict=True)]
        limit = None
        if any(len(c) > num_rows for c in calls):
            dtype = next(c[-1].dtype for c in calls if len(c) > num_rows)
            limit = jnp.concatenate(
                [
                    c[-1] if len(c) > num_rows else jnp.full(n, jnp.inf, dtype)
                    for c, n in zip(calls, counts, strict=True)
                ]
            )
        out = self.function(jax.tree.unflatten(self.tree, merged), limit)
        begins = [sum(counts[:k]) for k in range(len(counts))]
        return [
            tuple(x[begin : begin + n] for x in out)
            for begin, n in zip(begins, counts, strict=True)
        ]


def _compute(*leaves: Any, form: _CallForm) -> list[jax.Array]:
    return list(form.function.compute(*form.arguments(leaves)))


def _result_types(*leaves: Any, form: _CallForm) -> list[Any]:
    rows = tuple((x.shape[1:], x.dtype) for x in leaves)
    like, count = leaves[0], leaves[0].shape[0]
    return [
        like.update(shape=(count, *shape), dtype=dtype, weak_type=False)
        for shape, dtype in _types_of_rows(form, rows)
    ]


# Traced once for all numbers of rows.
@cache
def _types_of_rows(form: _CallForm, types: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    leaves = [jax.ShapeDtypeStruct((1, *shape), dtype) for shape, dtype in types]
    results = jax.eval_shape(partial(_compute, form=form), *leaves)
    return [(x.shape[1:], x.dtype) for x in results]


def _call_of_instances(
    leaves: Sequence[jax.Array], axes: Sequence[int | None], *, form: _CallForm
) -> tuple[list[jax.Array], list[int]]:
    """Return the results of a call under `vmap`, and their axes of instances."""
    size = next(x.shape[k] for x, k in zip(leaves, axes, strict=True) if k is not None)
    mapped = [
        jnp.broadcast_to(x, (size, *x.shape)) if k is None else jnp.moveaxis(x, k, 0)
        for x, k in zip(leaves, axes, strict=True)
    ]
    flat = [x.reshape(-1, *x.shape[2:]) for x in mapped]
    results = _PRIMITIVE.bind(*flat, form=form)
    rows = mapped[0].shape[:2]
    return [x.reshape(*rows, *x.shape[1:]) for x in results], [0] * len(results)


def _call_with_tangents(
    leaves: Sequence[Any], tangents: Sequence[Any], *, form: _CallForm
) -> tuple[Results, Results]:
    rates = [SymbolicZero(t.aval) if isinstance(t, ad.Zero) else t for t in tangents]
    return form.function.tangents(form.arguments(leaves), form.arguments(rates))


_PRIMITIVE = Primitive("shared_call")
_PRIMITIVE.multiple_results = True
_PRIMITIVE.def_impl(jax.jit(_compute, static_argnames="form"))
_PRIMITIVE.def_abstract_eval(_result_types)
batching.primitive_batchers[_PRIMITIVE] = _call_of_instances
ad.primitive_jvps[_PRIMITIVE] = _call_with_tangents
mlir.register_lowering(_PRIMITIVE, mlir.lower_fun(_compute, multiple_results=True))

"""Inequalities that are zero, with no derivative, wherever they hold.

Sums of overlaps are such: a step from where nothing overlaps does not see what it runs
into, and is refused again and again. There the line takes the row's place that it had
where it was violated last, or is at the trial point, as far as that is not above zero:
what is feasible stays so, and violations are what they were.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float

from posewise.compilation.compaction import taken

from .residuals import INEQ, Line, Rows, flat

Mask = Bool[jax.Array, "n rows"] | None


class Foretold(NamedTuple):
    """Rows in which lines take the place of what is flat."""

    rows: tuple[Rows, ...]
    mask: tuple[Mask, ...]
    """Where they do: there the row itself is zero. None of rows that stay as they are.
    """


def nothing(groups: tuple[Rows, ...]) -> Foretold:
    """The rows as they are."""
    none = lambda r: jnp.zeros(r.y.shape, bool) if _plain(r) else None
    return Foretold(groups, tuple(map(none, groups)))


def foretold(
    old: Foretold, new: tuple[Rows, ...], step: Float[jax.Array, "T nv"]
) -> tuple[Foretold, Foretold]:
    """The rows before and after a step, each with what the other tells of it.

    Rows that look at several slices stay as they are, and those of one column each,
    which are flat nowhere.
    """
    pairs = [
        _pair(a, b, m, step) for a, b, m in zip(old.rows, new, old.mask, strict=True)
    ]
    before, after = zip(*pairs, strict=True)
    columns = lambda side: Foretold(*map(tuple, zip(*side, strict=True)))
    return columns(before), columns(after)


Side = tuple[Rows, Mask]


def _pair(old: Rows, new: Rows, mask: Mask, step: jax.Array) -> tuple[Side, Side]:
    if mask is None:
        return (old, None), (new, None)
    flat_old, flat_new = _flat(old), _flat(new)
    left = flat_new & ~flat_old
    earlier = new.y - _change(new, step)
    met = flat_old & ~flat_new & jnp.isfinite(earlier)
    after = _line(new, left, old.y + _change(old, step), old.J)
    before = _line(old, met, earlier, new.J)
    return (before, mask | met), (after, left)


def foreseen(
    groups: tuple[Rows, ...], line: Line, step: Float[jax.Array, "T nv"]
) -> Line:
    """All rows after a step, by their derivatives.

    As they are: those that look at several slices, and those of one column each.
    """
    none = lambda r: jnp.zeros_like(r.y)
    changes = [_change(r, step) if _plain(r) else none(r) for r in groups]
    return line._replace(y=line.y + flat(changes))


def _plain(rows: Rows) -> bool:
    """They look at one slice, at all of its columns."""
    return rows.J.shape[1] == 1 and rows.column is None


def _change(rows: Rows, step: Float[jax.Array, "T nv"]) -> Float[jax.Array, "n rows"]:
    """Of plain ones with a step, by their derivatives."""
    return jnp.sum(rows.J[:, 0] * taken(step, rows.last)[:, None], -1)


def _flat(rows: Rows) -> jax.Array:
    """No derivative, though it is an inequality and just holds."""
    still = jnp.all(rows.J[:, 0] == 0, -1)
    return still & (rows.y == 0) & (rows.kind == INEQ)[:, None]


def _line(rows: Rows, where: jax.Array, y: jax.Array, J: jax.Array) -> Rows:
    return rows._replace(
        y=jnp.where(where, jnp.minimum(y, 0.0), rows.y),
        J=jnp.where(where[:, None, :, None], J, rows.J),
    )

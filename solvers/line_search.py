"""The minimum of a convex function along a line, by the sign of its slope."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float

from posewise.compilation.backend import is_cpu_backend

NUM_BISECTIONS = 24
"""Number of bisections on a CPU. Fewer leave the minimum along the line more than 1e-7
of the step away."""
NUM_SECTIONS = 32
"""Number of sections into which accelerators divide the line at once. More need fewer
divisions, but more memory."""
NUM_DIVISIONS = 5
"""Number of divisions on accelerators, each a few kernels. Fewer are less precise, see
`NUM_BISECTIONS`."""

Fraction = Float[jax.Array, ""]
Increases = Callable[[Fraction], Bool[jax.Array, ""]]
"""Whether the function increases at a fraction of the line."""


class LineMinimum(NamedTuple):
    """The minimum on a part of a line."""

    fraction: Fraction
    """A place just behind the minimum, where the function increases; or the end."""
    is_inside: Bool[jax.Array, ""]
    """Whether the function increases at the end of the part."""


def minimize_on_line(increases: Increases, longest: Fraction) -> LineMinimum:
    """Return the minimum between 0 and the longest fraction."""
    return (_bisect if is_cpu_backend() else _divide)(increases, longest)


def _bisect(increases: Increases, longest: Fraction) -> LineMinimum:
    def halve(
        _: jax.Array, bracket: tuple[Fraction, Fraction]
    ) -> tuple[Fraction, Fraction]:
        low, high = bracket
        middle = (low + high) / 2
        is_high = increases(middle)
        return jnp.where(is_high, low, middle), jnp.where(is_high, middle, high)

    bracket = jnp.zeros_like(longest), longest
    _, high = jax.lax.fori_loop(0, NUM_BISECTIONS, halve, bracket)
    return LineMinimum(high, increases(longest))


def _divide(increases: Increases, longest: Fraction) -> LineMinimum:
    # The slope changes its sign once, as the function is convex: of the ends of all
    # sections those before the minimum come first, and their number tells its section.
    low, width = jnp.zeros_like(longest), longest
    is_inside = jnp.zeros((), bool)
    for k in range(NUM_DIVISIONS):
        width = width / NUM_SECTIONS
        ends = low + width * jnp.arange(1, NUM_SECTIONS + 1)
        is_behind = jax.vmap(increases)(ends)
        if k == 0:
            is_inside = is_behind[-1]
        low = low + width * jnp.minimum(jnp.sum(~is_behind), NUM_SECTIONS - 1)
    return LineMinimum(low + width, is_inside)

"""Smooth extrema are on their side, and as few particles are wiped off as needed."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posewise.logic import smooth_extrema
from posewise.logic.states.dirt_rules import is_dirty
from posewise.logic.states.relaxed.wiped_plans import removals_needed


def test_extrema_are_on_their_side():
    rng = np.random.default_rng(3)
    x = jnp.asarray(rng.normal(0, 3, (500, 7)))
    ordered = np.sort(x)
    largest, under = (
        jax.jit(partial(bound, axis=-1))
        for bound in (smooth_extrema.smooth_max, smooth_extrema.mellowmin)
    )
    for t in (10.0, 0.02):
        for smooth, exact in ((largest, ordered[:, -1]), (under, ordered[:, 0])):
            off = np.asarray(smooth(x, t)) - exact
            assert (-1e-9 <= off).all() and (off <= t * np.log(7) + 1e-9).all()


@pytest.mark.parametrize(
    "count, threshold, needed", [(20, 0.5, 10), (20, 0.75, 5), (5, 0.5, 3), (1, 0.5, 1)]
)
def test_removals_needed_are_the_fewest(count, threshold, needed):
    assert removals_needed(count, threshold) == needed
    assert not is_dirty(np.arange(count) >= needed, threshold)
    assert is_dirty(np.arange(count) >= needed - 1, threshold)

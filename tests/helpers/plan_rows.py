"""Rows of all alternatives that make a statement true, on many paths at once."""

import jax
import jax.numpy as jnp
import numpy as np

import posewise as pw
from posewise.objectives.terms.interval import select_interval

_VALUES: dict = {}


def ways(C: pw.Config, statement, T: int, tau: float, times=None):
    """The alternatives of a statement on a path of T slices."""
    return statement.alternatives(
        C, select_interval(times, 1, np.full(T, float(tau)), "test")
    )


def satisfied(C: pw.Config, alternatives, paths: np.ndarray) -> np.ndarray:
    """Truth of all rows of each alternative on paths (n, T, nq): (alternatives, n)."""
    start = np.broadcast_to(C.q, (len(paths), 1, C.nq))
    whole = np.concatenate([start, paths], 1)
    worst = [
        [_values(C, f, whole)[:, list(slices)].max(1) for f, _, slices in w.objectives]
        for w in alternatives
    ]
    return np.array([np.max([np.full(len(paths), -1.0), *w], 0) <= 0 for w in worst])


def _values(C: pw.Config, feature, whole: np.ndarray) -> np.ndarray:
    """The largest row of a feature in each slice; (n, T)."""
    g = feature.bind(C)
    key = id(C), id(g.symbol), g.frames.tobytes(), whole.tobytes()
    key += tuple(np.asarray(v).tobytes() for v in (g.scale, g.target))
    key += tuple((k, np.asarray(v).tobytes()) for k, v in g.params.items())
    if key not in _VALUES:
        phi = feature.function(C)
        q = whole[:, 1:] if g.order == 0 else np.stack([whole[:, :-1], whole[:, 1:]], 2)
        run = jax.jit(jax.vmap(jax.vmap(lambda q: jnp.max(phi(q)))))
        _VALUES[key] = np.asarray(run(q))
    return _VALUES[key]

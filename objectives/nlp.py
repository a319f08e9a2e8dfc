"""A KOMO problem in plain coordinates, for other solvers.

    min Σ φ_sos²  subject to  φ_eq = 0, φ_ineq <= 0, bounds

over x = (q_0, …, q_{T-1}); coordinates that all slices share (of stable mode switches
and helper frames) are left out of these and come once, at the end. Quaternions are
coordinates like others: rows that see them as orientations do not depend on their
length.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from posewise.robots.kinematics.tree import KinematicTree
from posewise.robots.validation import float_array
from posewise.solvers import EQ, INEQ, SOS

from .chain.builder import RowLocation, without_slack
from .chain.groups import ChainData, FeatureBatch, FeatureGroup
from .chain.modes import ModeSequence
from .chain.problem import Chain
from .objective import OT, Objective, ObjectiveError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class ResidualSummary(NamedTuple):
    """What the rows of a problem amount to, in scaled units."""

    sos: float
    """Sum of squares of all cost rows."""
    ineq: float
    """Largest φ > 0 among inequality rows; 0 if none."""
    eq: float
    """Largest |φ| among equality rows."""


class RowGather(NamedTuple):
    """Where rows and derivatives stand among all that the problem's program gives."""

    rows: Int[np.ndarray, " m"]
    entries: Int[np.ndarray, " entries"]
    places: Int[np.ndarray, " entries"]
    """To which derivative each is added: those by shared variables have several."""


@dataclass(frozen=True, eq=False)
class NLP:
    """A problem as it was when it was made; later changes do not reach it."""

    types: tuple[OT, ...]
    """What each row of φ means."""
    names: tuple[str, ...]
    """`objective@slice[row]` for each row."""
    bounds: Float[np.ndarray, "2 n"]
    """Lower and upper limit of each variable, ±inf where none."""
    initial: Float[np.ndarray, " n"]
    """The initial path, slice by slice."""
    row: Int[np.ndarray, " nonzeros"]
    """Row of each derivative that may be other than zero; sorted, then by column."""
    column: Int[np.ndarray, " nonzeros"]
    """Its column."""
    _modes: ModeSequence = field(repr=False)
    _chain: Chain = field(repr=False)
    _data: ChainData = field(repr=False)
    _gather: RowGather = field(repr=False)
    _variables: Int[np.ndarray, "T nq"] = field(repr=False)
    """Of each coordinate in each slice."""

    @property
    def dimension(self) -> int:
        """Number of variables."""
        return self.initial.size

    def path(self, x: Any) -> Float[np.ndarray, "T nq"]:
        """The world's coordinates in all slices; see `Solution.path`."""
        return self._modes.narrow_path(self._checked(x)[self._variables])

    def evaluate(self, x: Any) -> "tuple[np.ndarray, csr_array]":
        """All scaled rows φ (m,), and their Jacobian (m, n) by the coordinates.

        Rows come objective by objective, slice by slice. The Jacobian always has the
        same pattern, that of `row` and `column`; SciPy, which JAX needs too, holds it.

        Raises:
            ObjectiveError: for an x of the wrong size.
        """
        from scipy.sparse import csr_array

        phi, values = self.values(x)
        starts = np.searchsorted(self.row, np.arange(len(phi) + 1))
        shape = (len(phi), self.dimension)
        return phi, csr_array((values, self.column.copy(), starts), shape=shape)

    def values(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        """φ (m,), and the derivatives at `row` and `column`."""
        path = jnp.asarray(self._checked(x)[self._variables], self._data.prefix.dtype)
        phi, found = _program(self._chain, self._data, path, self._gather)
        each = np.asarray(found, float)
        values = np.bincount(self._gather.places, each, len(self.row))
        return np.array(phi, float), values

    def _checked(self, x: Any) -> Float[np.ndarray, " n"]:
        n = self.dimension
        x = float_array("x", x, f"{n} numbers", ObjectiveError)
        if x.size != n:
            raise ObjectiveError(
                f"x has {x.size} numbers, expected {n}: all coordinates of slice 0,"
                " then of slice 1, …"
            )
        return x.reshape(-1)

    def summarize(self, phi: Any) -> ResidualSummary:
        """Cost and largest violations of rows φ."""
        phi = float_array("phi", phi, f"{len(self.types)} numbers", ObjectiveError)
        if phi.shape != (len(self.types),):
            raise ObjectiveError(
                f"phi has shape {phi.shape}, expected ({len(self.types)},)."
            )
        kind = np.array([t.value for t in self.types])
        return ResidualSummary(
            float(np.sum(phi[kind == SOS] ** 2)),
            float(np.max(phi[kind == INEQ], initial=0.0)),
            float(np.max(np.abs(phi[kind == EQ]), initial=0.0)),
        )


def make_nlp(
    modes: ModeSequence,
    chain: Chain,
    data: ChainData,
    objectives: tuple[Objective, ...],
    placed: list[list[RowLocation]],
    initial: Float[np.ndarray, "T nq"],
) -> NLP:
    """The problem of a chain; `placed` says where each objective's rows stand."""
    nq = chain.tree.nq
    variables = _variables(chain.slices, nq, modes.shared_coordinates)
    shared = np.isin(np.arange(nq), modes.shared_coordinates)
    shapes = chain.shapes(data, jnp.asarray(initial))
    y_start = np.cumsum([0, *(r.y.size for r in shapes)])
    J_start = np.cumsum([0, *(r.y.size * r.J.shape[1] * nq for r in shapes)])
    types: list[OT] = []
    names: list[str] = []
    found = []
    picked = []
    reached = [
        _reached(chain.tree, *p) for p in zip(chain.kinds, data.batches, strict=True)
    ]
    for objective, places in zip(objectives, placed, strict=True):
        ends = [np.asarray(data.batches[p.batch].last) for p in places]
        every = [
            (int(end[k]), p.batch, int(k))
            for p, end in zip(places, ends, strict=True)
            for k in p.rows
        ]
        for t, batch, k in sorted(every):
            rows, window = shapes[batch].y.shape[1], shapes[batch].J.shape[1]
            w, q = np.nonzero(reached[batch][k])
            # before the first slice only what all slices share is variable
            inside = (t - (window - 1) + w >= 0) | shared[q]
            w, q = w[inside], q[inside]
            column = variables[np.maximum(t - (window - 1) + w, 0), q]
            for r in range(rows):
                source = J_start[batch] + ((k * window + w) * rows + r) * nq + q
                found.append(np.stack([np.full(len(q), len(names)), column, source]))
                picked.append(y_start[batch] + k * rows + r)
                names.append(f"{objective.name}@{t}[{r}]")
                types.append(objective.type)
    row, column, source = np.concatenate(found or [np.zeros((3, 0), int)], 1)
    first = np.unique(variables, return_index=True)[1]
    key, derivatives = np.unique(row * len(first) + column, return_inverse=True)
    row, column = np.divmod(key, len(first))
    low, high = (np.broadcast_to(b, initial.shape) for b in chain.bounds(data))
    return NLP(
        tuple(types),
        tuple(names),
        np.stack([low.ravel()[first], high.ravel()[first]]).astype(float),
        np.array(initial, float).ravel()[first],
        row,
        column,
        modes,
        chain,
        without_slack(data),
        RowGather(np.array(picked, int), source, derivatives),
        variables,
    )


def _variables(T: int, nq: int, shared: np.ndarray) -> Int[np.ndarray, "T nq"]:
    """The variable of each coordinate: own ones slice by slice, then shared ones."""
    own = np.setdiff1d(np.arange(nq), shared)
    variables = np.zeros((T, nq), int)
    variables[:, own] = np.arange(T * len(own)).reshape(T, -1)
    variables[:, shared] = T * len(own) + np.arange(len(shared))
    return variables


def _reached(tree: KinematicTree, kind: FeatureGroup, b: FeatureBatch) -> np.ndarray:
    """(n, window, nq): coordinates that the rows of each instance may depend on."""
    n, window = len(b.last), kind.order + 1
    if not kind.frames:
        reached = np.zeros((n, tree.nq), bool)
        np.put_along_axis(reached, np.asarray(b.coordinates), True, 1)
        return np.broadcast_to(reached[:, None], (n, window, tree.nq))
    moves = np.zeros((len(tree.dof_mask), tree.nq), bool)
    for dof, column in enumerate(tree.dof_columns):
        moves[:, _coordinates(tree, column)] |= tree.dof_mask[:, dof, None]
    reached = moves[np.asarray(b.frames)].any(-2)
    return np.broadcast_to(reached.reshape(n, -1, tree.nq), (n, window, tree.nq))


def _coordinates(tree: KinematicTree, column: int) -> np.ndarray:
    """Entries of q that a tangent column moves."""
    single = tree.column_coordinate[column]
    if single >= 0:
        return np.array([single])
    first = next(q for q, v in tree.balls if v <= column < v + 3)
    return first + np.arange(4)


@partial(jax.jit, static_argnums=0)
def _program(
    chain: Chain, data: ChainData, x: jax.Array, gather: Any
) -> tuple[jax.Array, jax.Array]:
    rows = chain.evaluate(data, x, "q")
    y = jnp.concatenate([r.y.ravel() for r in rows])
    J = jnp.concatenate([r.J.ravel() for r in rows])
    return y[gather.rows], J[gather.entries]

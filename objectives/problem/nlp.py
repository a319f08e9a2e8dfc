"""A KOMO problem in plain coordinates, for other solvers.

    min Σ φ_sos²  subject to  φ_eq = 0, φ_ineq <= 0, bounds

over x = (q_0, …, q_{T-1}). Coordinates that all slices share (of stable mode switches
and helper frames) are left out of these and come once, at the end. Quaternions are
ordinary coordinates: rows that interpret them as orientations do not depend on their
length.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from posewise.compilation.program import compile_program
from posewise.robots.kinematics.forward import Kinematics
from posewise.robots.kinematics.tree import KinematicTree
from posewise.robots.typing import MatrixLike, VectorLike
from posewise.robots.validation import float_array
from posewise.solvers import EQ, INEQ, SOS

from ..chain.builder import without_slack
from ..chain.groups import ChainData, FeatureBatch, FeatureGroup
from ..chain.modes import ModeSequence
from ..chain.problem import Chain
from ..terms.objective import OT, ObjectiveError
from .spec import ProblemSpec, compile_chain, initial_paths, mode_sequence

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class ResidualSummary(NamedTuple):
    """Cost and largest violations of a problem's rows, in scaled units."""

    sos: float
    """Sum of squares of all cost rows."""
    ineq: float
    """Largest φ > 0 among inequality rows; 0 if none."""
    eq: float
    """Largest |φ| among equality rows."""


class RowGather(NamedTuple):
    """Indices of rows and derivatives in the outputs of the problem's program."""

    rows: Int[np.ndarray, " m"]
    entries: Int[np.ndarray, " entries"]
    targets: Int[np.ndarray, " entries"]
    """Index of the derivative to which each entry is added.

    Derivatives by shared variables are sums of several entries.
    """


@dataclass(frozen=True, eq=False)
class NLP:
    """A nonlinear program: a snapshot of a KOMO problem, for other solvers."""

    types: tuple[OT, ...]
    """Type of each row of φ."""
    names: tuple[str, ...]
    """Name of each row: `objective@slice[row]`."""
    bounds: Float[np.ndarray, "2 n"]
    """Lower and upper limit of each variable, ±inf where none."""
    initial: Float[np.ndarray, " n"]
    """The initial path, slice by slice."""
    row: Int[np.ndarray, " nonzeros"]
    """Row of each derivative that may be nonzero; sorted by row, then by column."""
    column: Int[np.ndarray, " nonzeros"]
    """Column of each derivative that may be nonzero."""
    _modes: ModeSequence = field(repr=False)
    _chain: Chain = field(repr=False)
    _data: ChainData = field(repr=False)
    _gather: RowGather = field(repr=False)
    _variables: Int[np.ndarray, "T nq"] = field(repr=False)
    """Index of the variable of each coordinate in each slice."""

    @property
    def dimension(self) -> int:
        """Number of variables."""
        return self.initial.size

    def path(self, x: VectorLike | MatrixLike) -> Float[np.ndarray, "T nq"]:
        """Return the world's coordinates in all slices; see `Solution.path`."""
        return self._modes.path_to_base(self._checked(x)[self._variables])

    def evaluate(self, x: VectorLike | MatrixLike) -> "tuple[np.ndarray, csr_array]":
        """Return all scaled rows φ (m,), and their sparse Jacobian (m, n).

        Rows are ordered by objective, then by slice. The Jacobian always has the same
        pattern, that of `row` and `column`.

        Raises:
            ObjectiveError: for an x of the wrong size.
        """
        # Imported here because SciPy's sparse arrays take long to import.
        from scipy.sparse import csr_array

        phi, values = self.values(x)
        starts = np.searchsorted(self.row, np.arange(len(phi) + 1))
        shape = (len(phi), self.dimension)
        return phi, csr_array((values, self.column.copy(), starts), shape=shape)

    def values(self, x: VectorLike | MatrixLike) -> tuple[np.ndarray, np.ndarray]:
        """Return φ (m,), and the derivatives at `row` and `column`."""
        path = jnp.asarray(self._checked(x)[self._variables], self._data.prefix.dtype)
        phi, entries = _program(self._chain, self._data, path, self._gather)
        weights = np.asarray(entries, float)
        values = np.bincount(self._gather.targets, weights, len(self.row))
        return np.array(phi, float), values

    def _checked(self, x: VectorLike | MatrixLike) -> Float[np.ndarray, " n"]:
        n = self.dimension
        x = float_array("x", x, f"{n} numbers", ObjectiveError)
        if x.size != n:
            raise ObjectiveError(
                f"x has {x.size} numbers, expected {n}: all coordinates of slice 0,"
                " then of slice 1, …"
            )
        return x.reshape(-1)

    def summarize(self, phi: VectorLike) -> ResidualSummary:
        """Return cost and largest violations of rows φ."""
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


def make_nlp(spec: ProblemSpec) -> NLP:
    """Return the nonlinear program of a problem, from its initial path."""
    modes = mode_sequence(spec)
    chain, data, locations = compile_chain(spec)
    initial = initial_paths(spec, 0, 1)[0]
    nq = chain.tree.nq
    variables = _variables(chain.slices, nq, modes.shared_coordinates)
    is_shared = np.isin(np.arange(nq), modes.shared_coordinates)
    shapes = chain.shapes(data, jnp.asarray(initial))
    y_start = np.cumsum([0, *(r.y.size for r in shapes)])
    J_start = np.cumsum([0, *(r.y.size * r.J.shape[1] * nq for r in shapes)])
    types: list[OT] = []
    names: list[str] = []
    entries = []
    row_sources = []
    dependent = [
        _dependent_coordinates(chain, data.K, group, batch)
        for group, batch in zip(chain.groups, data.batches, strict=True)
    ]
    for objective, parts in zip(spec.objectives, locations, strict=True):
        slices = [np.asarray(data.batches[part.batch].slices) for part in parts]
        instances = [
            (int(t[k]), part.batch, int(k))
            for part, t in zip(parts, slices, strict=True)
            for k in part.rows
        ]
        for t, batch, k in sorted(instances):
            rows, window = shapes[batch].y.shape[1], shapes[batch].J.shape[1]
            w, q = np.nonzero(dependent[batch][k])
            # Before slice 0 only coordinates that all slices share are variable.
            is_variable = (t - (window - 1) + w >= 0) | is_shared[q]
            w, q = w[is_variable], q[is_variable]
            column = variables[np.maximum(t - (window - 1) + w, 0), q]
            for r in range(rows):
                source = J_start[batch] + ((k * window + w) * rows + r) * nq + q
                entries.append(np.stack([np.full(len(q), len(names)), column, source]))
                row_sources.append(y_start[batch] + k * rows + r)
                names.append(f"{objective.name}@{t}[{r}]")
                types.append(objective.type)
    row, column, source = np.concatenate(entries or [np.zeros((3, 0), int)], 1)
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
        RowGather(np.array(row_sources, int), source, derivatives),
        variables,
    )


def _variables(T: int, nq: int, shared: np.ndarray) -> Int[np.ndarray, "T nq"]:
    """Return the variable of each coordinate: slice by slice, then shared ones."""
    separate = np.setdiff1d(np.arange(nq), shared)
    variables = np.zeros((T, nq), int)
    variables[:, separate] = np.arange(T * len(separate)).reshape(T, -1)
    variables[:, shared] = T * len(separate) + np.arange(len(shared))
    return variables


def _dependent_coordinates(
    chain: Chain, K: Kinematics, group: FeatureGroup, b: FeatureBatch
) -> np.ndarray:
    """Return which coordinates each instance may depend on, (n, window, nq)."""
    depends = _coordinates_of_frames(K, group, b)
    if group.order and chain.durations:
        depends = depends.copy()
        depends[:, -1, list(chain.durations)] = True
    return depends


def _coordinates_of_frames(
    K: Kinematics, group: FeatureGroup, b: FeatureBatch
) -> np.ndarray:
    """Return which coordinates the inputs of each instance depend on."""
    n, window, tree = len(b.slices), group.window, K.tree
    if not group.num_frames:
        depends = np.zeros((n, tree.nq), bool)
        np.put_along_axis(depends, np.asarray(b.coordinates), True, 1)
        return np.broadcast_to(depends[:, None], (n, window, tree.nq))
    mask = tree.node_dof_mask if group.symbol.reads_nodes else K.dof_mask
    moves = np.zeros((len(mask), tree.nq), bool)
    for dof, column in enumerate(tree.dof_columns):
        moves[:, _coordinates_of_column(tree, column)] |= mask[:, dof, None]
    depends = moves[np.asarray(b.frames)].any(-2)
    return np.broadcast_to(depends.reshape(n, -1, tree.nq), (n, window, tree.nq))


def _coordinates_of_column(tree: KinematicTree, column: int) -> np.ndarray:
    """Return the entries of q that a tangent column moves."""
    single = tree.column_coordinate[column]
    if single >= 0:
        return np.array([single])
    first = next(q for q, v in tree.balls if v <= column < v + 3)
    return first + np.arange(4)


def _evaluate(
    chain: Chain, data: ChainData, x: jax.Array, gather: Any
) -> tuple[jax.Array, jax.Array]:
    rows = chain.evaluate(data, x, "q")
    y = jnp.concatenate([r.y.ravel() for r in rows])
    J = jnp.concatenate([r.J.ravel() for r in rows])
    return y[gather.rows], J[gather.entries]


_program = compile_program(_evaluate, fetches=True)

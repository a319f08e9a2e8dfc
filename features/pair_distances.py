"""Signed distances of many pairs of frames, as one function of a configuration."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from posewise.collision import Contact
from posewise.compilation.capacity import pad_rows
from posewise.compilation.traced import is_traced
from posewise.robots.config import Config
from posewise.robots.contact.body_table import solid_frame
from posewise.robots.kinematics.forward import (
    Kinematics,
    fold_dofs,
    forward_pass_nodes,
)
from posewise.robots.kinematics.manifold import tangent_to_coordinates
from posewise.robots.typing import Array, FrameName
from posewise.robots.validation import float_array, integer, number

from .bound_feature import cast_floating
from .errors import FeatureError
from .pair_types import PairTypes
from .pairs.contact_tangents import frame_contacts
from .pairs.frame_contacts import (
    FrameContacts,
    Indices,
    Shapes,
    complete_shapes,
    shapes_and_table,
)
from .pairs.swept import parts_of_ways, swept_distances
from .pairs.tables import MIN_WORLD_SIZE, on_nodes, table_of_frames
from .safe_math import amin


@dataclass(frozen=True, eq=False)
class PairDistances:
    """Signed distances of pairs of frames [m], as a function of a configuration.

    It is made by `distances`, and maps (*batch, nq) to (*batch, pairs). It works under
    `jit`, `vmap`, `jvp`, `grad`, `jacfwd`, `jacrev` and `hessian`, by the configuration
    and by `shapes` (second derivatives by the configuration only); derivatives are
    exact almost everywhere, those of one side at kinks. It is a pytree: as an argument
    of a function under `jit` its world is data.
    """

    pairs: tuple[tuple[str, str], ...]
    """Names of the frames of each pair."""
    frames: tuple[str, ...]
    """Name of the frame of each body in `shapes`; rows after these are unused."""
    shapes: Shapes
    """Sizes of the bodies, and their poses on their frames."""
    cutoff: Float[Array, ""] | None
    """Distance above which pairs are not measured [m]; None: all are."""
    types: PairTypes = field(repr=False)
    kinematics: Kinematics = field(repr=False)
    table: Indices = field(repr=False)

    def __call__(
        self, q: Float[Array, "*batch nq"], shapes: Shapes | None = None
    ) -> Float[jax.Array, "*batch pairs"]:
        """Return the signed distances, negative in penetration, at most the cutoff.

        Those of frames at NaN, or of any frames where shapes have NaN, are NaN.

        Args:
            q: configurations.
            shapes: of the bodies, instead of those of the world.
        """
        poses = self._at(q, shapes)
        return self._shaped(poses.contacts().distance, np.shape(q))

    def contacts(
        self, q: Float[Array, "*batch nq"], shapes: Shapes | None = None
    ) -> Contact:
        """Return distances with witness points and normals, differentiable as well.

        Points are in the world; the normal points from the second frame to the first,
        and is zero beyond the cutoff. For arguments see `__call__`.
        """
        out = self._at(q, shapes).contacts()
        return Contact(*(self._shaped(x, np.shape(q)) for x in out[:4]))

    def value_and_jacobian(
        self, q: Float[Array, "*batch nq"], shapes: Shapes | None = None
    ) -> tuple[Float[jax.Array, "*batch pairs"], Float[jax.Array, "*batch pairs nq"]]:
        """Return distances and their derivatives by q, from the witness points at hand.

        For arguments see `__call__`.
        """
        poses, shape = self._at(q, shapes), np.shape(q)
        contacts, ends = poses.contacts(), poses.table["ends"]
        J = _JACOBIAN(self.kinematics, contacts, poses.twists, ends, poses.q)
        return self._shaped(contacts.distance, shape), self._shaped(J, shape)

    def swept(
        self,
        q0: Float[Array, "*#batch nq"],
        q1: Float[Array, "*#batch nq"],
        shapes: Shapes | None = None,
        *,
        parts: int = 8,
    ) -> Float[jax.Array, "*batch pairs"]:
        """Return lower bounds of the distances on straight ways from q0 to q1.

        Coordinates move linearly on a way, quaternions by turns about one axis. No
        distance on it is less than its bound, which is at most the cutoff. With twice
        the parts bounds of balls are about four times as close, others twice.

        Args:
            q0: configurations at which ways begin.
            q1: those at which they end.
            shapes: of the bodies, instead of those of the world.
            parts: number of parts of each way, in whose middles bodies are measured.
        """
        condition = ("an integer >= 1", lambda n: n >= 1, FeatureError)
        parts = integer("parts", parts, *condition)
        shapes = self.shapes if shapes is None else shapes
        xp = self._namespace(q0, q1, shapes)
        begin, end = (
            self._configurations(n, q, xp) for n, q in (("q0", q0), ("q1", q1))
        )
        try:
            begin, end = xp.broadcast_arrays(begin, end)
        except ValueError:
            raise FeatureError(
                f"q0 and q1 have shapes {begin.shape}, {end.shape}, expected the same"
                " leading axes, or one configuration."
            ) from None
        of_parts = parts_of_ways(self.kinematics, begin, end, parts)
        poses = self._at(of_parts.middle, shapes)
        lower = swept_distances(
            poses.types,
            self.kinematics,
            poses.R,
            poses.p,
            poses.twists,
            of_parts.half.reshape(-1, self.kinematics.nv),
            poses.shapes,
            poses.table,
            poses.cutoff,
        )
        least = amin(self._shaped(lower, of_parts.middle.shape), -2)
        return least if self.cutoff is None else jnp.minimum(least, self.cutoff)

    def bodies(self, frame: FrameName) -> Int[np.ndarray, " rows"]:
        """Return the rows of `shapes` that are bodies of a frame.

        Raises:
            FeatureError: for a frame that is in none of the pairs.
        """
        rows = np.flatnonzero([name == frame for name in self.frames])
        if not len(rows):
            raise FeatureError(
                f"frame is {frame!r}, expected one of the pairs:"
                f" {sorted(set(self.frames))}."
            )
        return rows

    def with_shapes(self, shapes: Shapes) -> "PairDistances":
        """Return the distances of bodies with other sizes or poses."""
        self._check(shapes)
        return replace(self, shapes=shapes)

    def _at(self, q: Any, shapes: Shapes | None) -> "_Poses":
        """Return poses at configurations, after checks."""
        shapes = self.shapes if shapes is None else shapes
        xp = self._namespace(q, shapes)
        q = self._configurations("q", q, xp)
        self._check(shapes)
        arrays = shapes, self.kinematics, self.table, self.cutoff
        return _Poses.of(self.types, q, *jax.tree.map(xp.asarray, arrays))

    def _namespace(self, *arguments: Any) -> Any:
        """Return the module of functions for arrays, `jax.numpy` for traced ones."""
        # Single evaluations outside of traced functions compile no kinematics.
        arrays = arguments, self.kinematics, self.table, self.cutoff
        return jnp if is_traced(arrays) else np

    def _configurations(self, label: str, q: Any, xp: Any) -> Any:
        """Return configurations as an array, after checks."""
        if xp is jnp:
            q = jnp.asarray(q)
            if not jnp.issubdtype(q.dtype, jnp.floating):
                q = q.astype(jnp.result_type(float))
        else:
            q = float_array(label, q, "configurations (*batch, nq)", FeatureError)
            q = q.astype(jnp.result_type(float))
        if not q.shape or q.shape[-1] != self.kinematics.nq:
            raise FeatureError(
                f"{label} has shape {q.shape}, expected (*batch, {self.kinematics.nq}):"
                " one configuration, or any number of them along leading axes."
            )
        return q

    def _check(self, shapes: Any) -> None:
        expected = [np.shape(x) for x in self.shapes]
        sizes = [np.shape(x) for x in shapes] if isinstance(shapes, Shapes) else shapes
        if sizes != expected:
            raise FeatureError(
                f"shapes: {sizes!r}, expected those of this world with other numbers,"
                f" arrays of shapes {expected}: use shapes._replace, and jax.vmap for"
                " several sets of shapes."
            )

    def _shaped(self, x: Array, q_shape: tuple[int, ...]) -> jax.Array:
        count = len(self.pairs)
        return jnp.asarray(x[:, :count]).reshape(*q_shape[:-1], count, *x.shape[2:])


jax.tree_util.register_dataclass(
    PairDistances,
    data_fields=("shapes", "cutoff", "kinematics", "table"),
    meta_fields=("pairs", "frames", "types"),
)


def distances(
    C: Config,
    pairs: Iterable[tuple[FrameName, FrameName]] | None = None,
    *,
    cutoff: float | None = None,
) -> PairDistances:
    """Return the signed distances of pairs of frames as one function of q.

    A frame with several shapes counts as their union, one without any as a point. One
    program serves all kinds of pairs of a robot, and any number of them up to a class
    of capacity.

    Args:
        C: the world, as it is now.
        pairs: names of the frames; None: those that may collide, `C.pairs.names()`.
        cutoff: distances above it are not measured, and are the cutoff, with a
            derivative of zero [m]; None: all are measured.

    Raises:
        ConfigError: for an unknown frame, the world, or a frame whose shapes are all
            excluded from collisions.
        FeatureError: for no pairs, what is no pair of names, two half-spaces, or a
            cutoff that is no distance.

    >>> import posewise as pw
    >>> C = pw.Config()
    >>> _ = C.add_frame("wall", shape=pw.Box([0.2, 2, 2]))
    >>> _ = C.add_frame("ball", shape=pw.Sphere(0.1), joint="transX")
    >>> measure = pw.distances(C, [("ball", "wall")])
    >>> print(*(f"{float(d[0]):.3f}" for d in measure([[1.0], [2.0]])))
    0.800 1.800
    """
    if cutoff is not None:
        expected = "a distance in metres, > 0, or None to measure all pairs"
        cutoff = number("cutoff", cutoff, expected, lambda x: x > 0, FeatureError)
    named = C.pairs.names() if pairs is None else _pairs_of_names(pairs)
    if not named:
        raise FeatureError(
            "pairs is empty, expected pairs of names of frames: without an argument"
            " they are those that may collide, see C.pairs.names()."
        )
    indices = np.array([[C.index(name) for name in pair] for pair in named])
    frames = C.frames
    for i in np.unique(indices).tolist():
        solid_frame(frames, i)
    table = table_of_frames(frames, indices, np.zeros(len(named)))
    missing = np.setdiff1d(np.arange(len(named)), table.pairs.pair)
    if len(missing):
        raise FeatureError(
            f"pairs {[named[i] for i in missing.tolist()]}: two half-spaces have no"
            " distance."
        )
    K = C.kinematics().for_programs()
    types, arrays = table.arrays(("distances", K.tree), MIN_WORLD_SIZE)
    bodies = table.pairs.bodies
    rank = pad_rows(bodies.rank, len(arrays["radius"]), 0)
    body_of_hull = np.zeros(len(arrays["vertices"]), int)
    rows = np.flatnonzero(bodies.hull >= 0)
    body_of_hull[bodies.hull[rows]] = rows
    vertices = arrays["vertices"]
    place = np.arange(vertices.shape[1])
    is_copy = (vertices == vertices[:, :1]).all(-1) & (place > 0)
    # All corners of a box count, also where it is as thin as a segment or a point.
    is_copy = np.where(rank[body_of_hull, None] == 0, place >= 8, is_copy)
    shapes, of_pairs = shapes_and_table(arrays)
    of_hulls = {"body_of_hull": body_of_hull, "is_copy": is_copy}
    return PairDistances(
        pairs=tuple(named),
        frames=tuple(frames[i].name for i in bodies.frame.tolist()),
        shapes=shapes,
        cutoff=None if cutoff is None else np.array(cutoff),
        types=types,
        kinematics=K,
        table=of_pairs | of_hulls | {"rank": rank},
    )


def _pairs_of_names(pairs: Any) -> list[tuple[str, str]]:
    """Return pairs of names as strings, after checks."""
    pairs = list(pairs) if isinstance(pairs, Iterable) else [pairs]
    for k, pair in enumerate(pairs):
        is_pair = isinstance(pair, Sequence | np.ndarray) and len(pair) == 2
        if not is_pair or not all(isinstance(name, str) for name in pair):
            raise FeatureError(
                f"pairs[{k}] is {pair!r}, expected two names of frames: pairs are a"
                ' list such as [("ball", "wall"), ("ball", "floor")].'
            )
    return [(str(a), str(b)) for a, b in pairs]


class _Poses(NamedTuple):
    """Poses of what carries bodies at configurations, and the bodies on them."""

    types: PairTypes
    q: Array
    R: Array
    p: Array
    twists: Array
    shapes: Shapes
    table: Indices
    cutoff: Array | None

    @classmethod
    def of(
        cls,
        types: PairTypes,
        q: Float[Array, "*batch nq"],
        shapes: Shapes,
        K: Kinematics,
        table: Indices,
        cutoff: Float[Array, ""] | None,
    ) -> "_Poses":
        """Return the poses of all rows."""
        # A robot without joints has rows, too: -1 cannot stand for their number.
        q = q.reshape(math.prod(q.shape[:-1]), K.nq)
        (R, p), twists = forward_pass_nodes(K, q)
        shapes = Shapes(*(cast_floating(x, q.dtype) for x in shapes))
        shapes = complete_shapes(shapes, table)
        table = on_nodes(K, table | {"body_pose": shapes.pose})
        shapes = shapes._replace(pose=cast_floating(table.pop("body_pose"), q.dtype))
        return cls(types, q, R, p, twists, shapes, table, cutoff)

    def contacts(self) -> FrameContacts:
        return frame_contacts(
            self.types, self.R, self.p, self.shapes, self.table, self.cutoff
        )


def _jacobian_of_rows(
    K: Kinematics, contacts: FrameContacts, twists: Array, ends: Array, q: Array
) -> jax.Array:
    """Return derivatives of the distances by q (rows, ends, nq)."""
    # A twist (v, ω) of the first frame changes the distance by n·v + (p_a × n)·ω, and
    # one of the second frame by the opposite: pairs that move together keep it.
    moment = jnp.cross(contacts.point_a, contacts.normal)
    wrench = jnp.concatenate([contacts.normal, moment], -1)
    moves = jnp.asarray(K.tree.node_dof_mask)[ends].astype(q.dtype)
    by_dof: Any = sum(wrench[..., k, None] * twists[:, None, :, k] for k in range(6))
    J = fold_dofs(K, by_dof * (moves[:, 0] - moves[:, 1]))
    by_q: jax.Array = tangent_to_coordinates(K.tree, q, J)
    return by_q


_JACOBIAN = jax.jit(_jacobian_of_rows)

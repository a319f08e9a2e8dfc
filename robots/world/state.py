"""A world as it stands: its frames, coordinates, poses and kinematics."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ..contact.collision_pairs import FramePair
from ..errors import ConfigError, unknown_name
from ..kinematics.builder import KinematicsLayout, build_kinematics
from ..kinematics.forward import (
    ForwardPass,
    Kinematics,
    forward_pass,
    frame_index,
    frame_quaternions,
)
from ..kinematics.joint_types import neutral_value
from ..kinematics.mimic_joints import mimic_value, resolve_mimics
from ..validation import CONVERSION_ERRORS, float_array
from .agents import Agent, Camera
from .argument_parsing import numbers_key
from .frame import Frame, Joint
from .object_states import ObjectState
from .objects import WorldObject
from .regions import Region
from .rooms import RoomMap

if TYPE_CHECKING:
    from ..visual.viewer import View


class WorldState:
    """What a `Config` is, without the ways to change it.

    Everything derived from the frames is an immutable snapshot that `_forget` drops.
    """

    def __init__(self) -> None:
        self._frames: list[Frame] = []
        self._values: dict[int, np.ndarray] = {}
        self._objects: dict[str, WorldObject] = {}
        self._cameras: dict[str, Camera] = {}
        self._agents: dict[str, Agent] = {}
        self._rooms: RoomMap | None = None
        self._regions: tuple[Region, ...] = ()
        self._states: dict[str, ObjectState] = {}
        self._features: dict[Any, Any] = {}
        self._ignored: frozenset[FramePair] = frozenset()
        self._cache: tuple[KinematicsLayout, Kinematics] | None = None
        self._jax_kinematics: Kinematics | None = None
        self._walk: ForwardPass | None = None
        self._pairs: np.ndarray | None = None
        self._view: View | None = None
        self._forget()

    # -- reading -----------------------------------------------------------------

    @property
    def frames(self) -> tuple[Frame, ...]:
        """All frames in order."""
        return tuple(self._frames)

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all frames in order."""
        return self._snapshot()[1].names

    @property
    def objects(self) -> dict[str, WorldObject]:
        """Objects by name."""
        return dict(self._objects)

    @property
    def regions(self) -> tuple[Region, ...]:
        """Cavities and supports of objects, in the order in which they were added."""
        return self._regions

    def index(self, frame: Any) -> int:
        """Index of a frame by name (the first of that name); the world: `len(frames)`.

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        return self._snapshot()[1].index(frame)

    def frame(self, name: Any) -> Frame:
        """The frame of that name.

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        i = self.index(name)
        if i == len(self._frames):
            return Frame("world")
        return self._frames[i]

    def children(self, name: Any) -> tuple[str, ...]:
        """Names of the frames attached to a frame."""
        i: int | None = self.index(name)
        i = None if i == len(self._frames) else i
        return tuple(f.name for f in self._frames if f.parent == i)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints that make up q, in order."""
        layout = self._snapshot()[0]
        return tuple(self._joint(s.frame).name for s in layout.slots)

    @property
    def nq(self) -> int:
        """Number of coordinates of q."""
        return self._snapshot()[0].tree.nq

    @property
    def nv(self) -> int:
        """Dimension of the tangent space: a quaternion counts three."""
        return self._snapshot()[0].tree.nv

    @property
    def limits(self) -> np.ndarray:
        """Lower and upper bounds (2, nq), ±inf where none."""
        return np.array(self._snapshot()[1].limits)

    @property
    def max_velocity(self) -> np.ndarray:
        """Largest speed of each coordinate (nq,), inf where none."""
        return np.array(self._snapshot()[1].max_velocity)

    @property
    def joint_types(self) -> tuple[str, ...]:
        """Types of the joints that make up q, in order."""
        return tuple(self._joint(s.frame).type for s in self._snapshot()[0].slots)

    @property
    def quaternions(self) -> tuple[int, ...]:
        """First coordinate of each quaternion in q."""
        return tuple(first for first, _ in self._snapshot()[0].tree.balls)

    @property
    def home(self) -> np.ndarray:
        """The value of q at definition (nq,)."""
        return np.array(self._snapshot()[1].home)

    @property
    def q(self) -> np.ndarray:
        """Joint coordinates (nq,): in frame order, quaternions as `(w, x, y, z)`."""
        slots = self._snapshot()[0].slots
        return np.concatenate([np.zeros(0), *(self._values[s.frame] for s in slots)])

    @q.setter
    def q(self, q: Any) -> None:
        slots = self._snapshot()[0].slots
        q = float_array("q", q, f"{self.nq} numbers")
        if q.shape != (self.nq,):
            raise ConfigError(
                f"q has shape {q.shape}, expected ({self.nq},): one number for each"
                f" coordinate of {', '.join(self.joint_names) or 'no joint'}."
            )
        if not np.isfinite(q).all():
            bad = self.coordinate_names[int(np.argmin(np.isfinite(q)))]
            raise ConfigError(f"q has a NaN or infinite entry at {bad!r}.")
        for first in self.quaternions:
            if not q[first : first + 4].any():
                bad = self.coordinate_names[first].partition(":")[0]
                raise ConfigError(
                    f"q has a zero quaternion in joint {bad!r}, expected (w, x, y, z)"
                    " of length 1."
                )
        for s in slots:
            self._values[s.frame] = q[s.start : s.start + s.dim].copy()
        self._walk = None

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """One name for each entry of q: the joint's, with `:i` where it has several."""
        names: list[str] = []
        for s in self._snapshot()[0].slots:
            name = self._joint(s.frame).name
            names += [name] if s.dim == 1 else [f"{name}:{i}" for i in range(s.dim)]
        return tuple(names)

    def coordinates(self, joints: Any) -> np.ndarray:
        """Indices into q of joints, given by joint or frame name.

        Raises:
            ConfigError: for an unknown, locked, mimicking or rigid joint.
        """
        joints = [joints] if isinstance(joints, str) else list(joints)
        where: dict[str, np.ndarray] = {}
        for s in self._snapshot()[0].slots:
            entries = np.arange(s.start, s.start + s.dim)
            where.setdefault(self._frames[s.frame].name, entries)
            where.setdefault(self._joint(s.frame).name, entries)
        for name in joints:
            if name not in where:
                raise ConfigError(
                    unknown_name("moving joint", name, where)
                    + " (Locked, mimicking and fixed joints are not part of q.)"
                )
        return np.concatenate([np.zeros(0, int), *(where[n] for n in joints)])

    def joint_value(self, joint: Any) -> np.ndarray:
        """Coordinates (dim,) of any joint: moving, locked or mimicking."""
        i = self._joint_frame(joint)
        drive = resolve_mimics(self._frames)[i]
        value = self._values[drive.source]
        return mimic_value(self._joint(i).type, value, drive)

    def kinematics(self) -> Kinematics:
        """A frozen snapshot of the kinematics, for JAX code.

        Its arrays are float64 when JAX has that enabled, else float32.
        """
        K = self._snapshot()[1]
        if self._jax_kinematics is None:
            given = {k: v for k, v in vars(K).items() if k not in ("tree", "names")}
            self._jax_kinematics = replace(K, **jax.device_put(given))
        return self._jax_kinematics

    def forward_pass(self, q: np.ndarray | None = None) -> ForwardPass:
        """Poses and twists (NumPy) at `q` (default: the state); the state's is kept."""
        K = self._snapshot()[1]
        if q is not None:
            return forward_pass(K, np.asarray(q, float))
        if self._walk is None:
            self._walk = forward_pass(K, self.q)
        return self._walk

    def quaternions_at(self, q: np.ndarray | None = None) -> np.ndarray:
        """Orientations (…, frames + 1, 4) at `q`, the world's last."""
        K = self._snapshot()[1]
        return frame_quaternions(K, self.q if q is None else np.asarray(q, float))

    def pose(self, frame: Any) -> np.ndarray:
        """World pose (7,) of a frame, `(px, py, pz, w, x, y, z)`."""
        return self._pose_at(self.index(frame))

    def poses(self) -> np.ndarray:
        """World poses (frames, 7)."""
        return np.concatenate(
            [self.forward_pass().frames.p, self.quaternions_at()], -1
        )[:-1]

    # -- features ----------------------------------------------------------------

    def feature(self, symbol: Any, frames: Any = (), **options: Any) -> Any:
        """A feature on frames of this world, checked: see `posewise.Feature`."""
        feature = _on(symbol, frames, options)
        feature.check(self)
        return feature

    def eval(
        self, symbol: Any, frames: Any = (), **options: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Value (D,) and Jacobian (D, nq) of a feature at the present state.

        Args:
            symbol: an entry of `FS`.
            frames: names of the frames (or joints) it speaks of.
            **options: `scale`, `target`, and `coordinates="tangent"` for a Jacobian
                (D, nv); more in `posewise.Feature`.
        """
        coordinates = options.pop("coordinates", "q")
        try:
            numbers = ((k, np.shape(v), numbers_key(v)) for k, v in options.items())
            key = (symbol, *frames, *numbers)
            feature = self._features.get(key)
        except CONVERSION_ERRORS:
            key, feature = None, None
        if feature is None:
            feature = _on(symbol, frames, options)
            if key is not None and len(self._features) < 1024:
                self._features[key] = feature
        return feature.eval(self, coordinates=coordinates)

    # -- inside ------------------------------------------------------------------

    def _forget(self) -> None:
        self._cache = None
        self._jax_kinematics = None
        self._walk = None
        self._pairs = None

    def _snapshot(self) -> tuple[KinematicsLayout, Kinematics]:
        if self._cache is None:
            layout = build_kinematics(self._frames, self._values)
            nq = layout.tree.nq
            limits = np.tile(np.array([[-np.inf], [np.inf]]), (1, nq))
            home, speed = np.zeros(nq), np.full(nq, np.inf)
            for s in layout.slots:
                joint = self._joint(s.frame)
                part = slice(s.start, s.start + s.dim)
                if joint.limits is not None:
                    limits[:, part] = joint.limits
                if joint.velocity is not None:
                    speed[part] = joint.velocity
                home[part] = neutral_value(joint.type) if joint.q is None else joint.q
            names = tuple(f.name for f in self._frames)
            K = Kinematics(
                layout.tree,
                names,
                **layout.data,
                limits=limits,
                home=home,
                max_velocity=speed,
            )
            self._cache = layout, K
        return self._cache

    def _joint(self, i: int) -> Joint:
        joint = self._frames[i].joint
        if joint is None:
            raise ConfigError(f"Frame {self._frames[i].name!r} has no joint.")
        return joint

    def _pose_at(self, i: int) -> np.ndarray:
        return np.concatenate(
            [self.forward_pass().frames.p[i], self.quaternions_at()[i]]
        )

    def _joint_frame(self, name: Any) -> int:
        """Index of the frame that carries a joint, by joint or frame name."""
        jointed = [i for i, f in enumerate(self._frames) if f.joint is not None]
        for i in jointed:
            if self._joint(i).name == name:
                return i
        for i in jointed:
            if self._frames[i].name == name:
                return i
        raise ConfigError(
            unknown_name("joint", name, (self._joint(i).name for i in jointed))
        )

    def _own(self, frame: Any) -> int:
        i = self.index(frame)
        if i == len(self._frames):
            raise ConfigError("The world itself cannot be changed; name a frame.")
        return i

    def _parent(self, parent: Any) -> int | None:
        names, count = [f.name for f in self._frames], len(self._frames)
        i = frame_index(parent, names, count)
        return None if i == count else i

    def _names_in_use(self) -> Iterable[str]:
        return (f.name for f in self._frames)


def _on(symbol: Any, frames: Any, options: Mapping[str, Any]) -> Any:
    if not hasattr(symbol, "on"):
        raise ConfigError(
            f"symbol is {symbol!r}, expected an entry of FS; for a function of poses"
            " make a Feature(function, frames)."
        )
    return symbol.on(frames, **options)

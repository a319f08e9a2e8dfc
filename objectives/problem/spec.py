"""A path problem as a value, and the functions that make it ready for the solver."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

from posewise.compilation.capacity import make_tables
from posewise.features.functions.custom_symbol import CustomSymbol, tracing_once
from posewise.robots.config import Config
from posewise.robots.contact.world_scale import WorldScale
from posewise.robots.kinematics.manifold import integrate

from ..chain.builder import RowLocation, build_chain
from ..chain.contact_forces import ActiveContact
from ..chain.courses import Course, set_course_state, set_courses
from ..chain.groups import ChainData
from ..chain.modes import HelperFrame, ModeSequence, ModeSwitch, build_modes
from ..chain.problem import Chain
from ..clearance.avoidance import CollisionAvoidance
from ..clearance.certificate import Certificate, certify
from ..clearance.motion_model import MotionPart, motion_parts
from ..terms.interval import AddedConstraint, Choice, ResolvedAlternative
from ..terms.objective import Objective, ObjectiveError
from .random_paths import sample_initial_paths

T_co = TypeVar("T_co")
PathSampler = Callable[[int, int], Float[np.ndarray, "count T nq"]]
"""Returns initial paths for a seed and a count."""


class CompiledProblem(NamedTuple):
    """A problem as the solver sees it."""

    chain: Chain
    """Static structure."""
    data: ChainData
    """Numbers, which may vary without recompiling."""
    locations: list[list[RowLocation]]
    """Location of the rows of each objective."""


class LastResult(Generic[T_co]):
    """The last result of a computation, kept while its inputs stay the same."""

    def __init__(self) -> None:
        self.key: tuple[Any, ...] = ()
        self.value: T_co | None = None

    def get(self, key: tuple[Any, ...], compute: Callable[[], T_co]) -> T_co:
        """Return the value for a key, recomputed if the key differs."""
        if self.value is None or not _is_same_key(self.key, key):
            self.value = None
            self.key, self.value = key, compute()
        return self.value


@dataclass(eq=False)
class ProblemCache:
    """Last results for one problem, so that repeated solves skip preparation.

    Each result has a key of what it was made from, and is made again where the key
    differs: copies of a problem may share a cache. One that is solved beside the other
    gets its own, so that the two do not take turns in it; `modes` may stay shared while
    the world is the same.
    """

    modes: LastResult[ModeSequence] = field(default_factory=LastResult)
    compiled: LastResult[CompiledProblem] = field(default_factory=LastResult)
    limits: LastResult[np.ndarray] = field(default_factory=LastResult)
    initial_paths: LastResult[np.ndarray] = field(default_factory=LastResult)
    advice: LastResult[tuple[str, ...]] = field(default_factory=LastResult)
    findings: LastResult[tuple[str, ...]] = field(default_factory=LastResult)
    scale: LastResult[WorldScale] = field(default_factory=LastResult)
    between: LastResult[CompiledProblem] = field(default_factory=LastResult)
    combinations: LastResult[list["ProblemCache"]] = field(default_factory=LastResult)
    """Caches of the problem with each combination of alternatives that is tried."""


@dataclass(frozen=True, eq=False)
class ProblemSpec:
    """Objectives over copies of a world's coordinates, one copy for each slice."""

    config: Config
    """The user's world; its state when solving is the state before slice 0."""
    T: int
    """Number of slices."""
    slices_per_phase: int
    k_order: int
    """Highest order of any objective."""
    tau: Float[np.ndarray, " T"]
    """Duration of the step into each slice [s]."""
    objectives: tuple[Objective, ...] = ()
    choices: tuple[Choice, ...] = ()
    """Constraints with several alternatives, none of which is chosen yet."""
    alternatives: tuple[str, ...] = ()
    """Names of the alternatives that were chosen."""
    room: tuple[tuple[Objective, ...], ...] = ()
    """Objectives of each combination of alternatives that is tried: the program has
    room for the rows of any of them, so that they share it. Empty: there is no choice.
    """
    constraints: tuple[AddedConstraint, ...] = ()
    """Sources of objectives and choices."""
    switches: tuple[ModeSwitch, ...] = ()
    helpers: tuple[HelperFrame, ...] = ()
    contacts: tuple[ActiveContact, ...] = ()
    courses: tuple[Course, ...] = ()
    avoidance: CollisionAvoidance | None = None
    """Distances that the whole path keeps."""
    durations: tuple[str, ...] = ()
    """For each phase the helper frame whose joint is the factor of its duration; empty:
    durations are constant."""
    initial: Float[np.ndarray, "T nq"] | None = None
    """Initial path that was given, in coordinates of `config`."""
    start_velocity: Float[np.ndarray, " nv"] | None = None
    """Velocity with which the path begins [rad/s, m/s]; None: at rest."""
    sampler: PathSampler | None = None
    """Source of all initial paths; None: `sample_initial_paths`."""
    cache: ProblemCache = field(default_factory=ProblemCache, repr=False)

    @property
    def needs_certificate(self) -> bool:
        """Whether solutions keep distances between slices, too."""
        return self.avoidance is not None and self.avoidance.between

    @property
    def is_bounded_between(self) -> bool:
        """Whether solutions have to do with what is between slices in any way."""
        has_bounds = any(o.between is not None for o in self.objectives)
        return self.needs_certificate or has_bounds

    @property
    def num_phases(self) -> int:
        """Number of phases, the last of which may be cut short."""
        return -(-self.T // self.slices_per_phase)

    @property
    def world(self) -> Config:
        """The world with helper frames and contacts, a copy if there are any."""
        return mode_sequence(self).with_helpers

    @property
    def state_before(self) -> Float[np.ndarray, " nq"] | None:
        """The world's state one step before the start; None: at rest."""
        return None if self.start_velocity is None else states_before(self)[0]

    def with_each_of(
        self, combinations: Sequence[tuple[ResolvedAlternative, ...]]
    ) -> "list[ProblemSpec]":
        """Return the problem with each of several combinations of alternatives.

        Args:
            combinations: one alternative of each choice.
        """
        caches = self.cache.combinations.get(
            tuple(combinations),
            lambda: [ProblemCache(modes=self.cache.modes) for _ in combinations],
        )
        added = [
            tuple(o for a in chosen for o in a.objectives) for chosen in combinations
        ]
        return [
            replace(
                self,
                objectives=(*self.objectives, *objectives),
                choices=(),
                alternatives=tuple(alternative.name for alternative in chosen),
                room=tuple(added),
                cache=cache,
            )
            for chosen, objectives, cache in zip(
                combinations, added, caches, strict=True
            )
        ]

    def in_world(self, world: Config) -> "ProblemSpec":
        """Return the same problem in another world.

        Raises:
            ObjectiveError: for anything but a Config.
        """
        if not isinstance(world, Config):
            raise ObjectiveError(
                f"worlds has a {type(world).__name__}, expected Configs: copies of the"
                " problem's world, C.copy(), with other numbers."
            )
        return self._with(config=world, cache=ProblemCache())

    def from_path(self, initial: Float[np.ndarray, "T nq"]) -> "ProblemSpec":
        """Return the same problem with another initial path."""
        return self._with(initial=initial)

    def frozen(self) -> "ProblemSpec":
        """Return the problem with a copy of its world."""
        return self.in_world(self.config.copy())

    def _with(self, **changes: Any) -> "ProblemSpec":
        # Each solve makes such copies; dataclasses.replace would take longer.
        other = object.__new__(ProblemSpec)
        other.__dict__.update(self.__dict__, **changes)
        return other


def mode_sequence(spec: ProblemSpec) -> ModeSequence:
    """Return the world with the copies that mode switches need; see `chain.modes`."""
    C = spec.config
    driven = tuple(course.frame for course in spec.courses)
    parts = spec.switches, spec.helpers, spec.contacts, driven
    # The constant poses of attachments depend on the state only if there are switches.
    state = C.q.tobytes() if spec.switches else b""
    origins = b""
    if any(parts):
        # Otherwise the world is the user's own. Where courses begin is data.
        frame_origins = [f.origin for f in C.frames if f.name not in driven]
        origins = np.asarray(frame_origins, float).tobytes()
    key = (C.structure_key, *parts, state, origins)
    modes = spec.cache.modes.get(key, lambda: build_modes(C, *parts))
    if spec.courses:
        # The state of the solved world is where its own frames are at the start.
        q = modes.world.q
        set_course_state(modes.world, spec.courses, q, -1)
        modes.world.q = q
    return modes


@tracing_once()
def compile_chain(spec: ProblemSpec) -> CompiledProblem:
    """Return the problem as the solver sees it, with the present state before slice 0.

    While the world's structure and the objectives are the same only poses are replaced.
    """
    modes = mode_sequence(spec)
    features = [o.feature for o in spec.objectives]
    reads_origins = any(f.symbol.depends_on_origins for f in features)
    origins = modes.world.origins_key if reads_origins else None
    # Functions of users may compute something else than before.
    custom = tuple(
        f.present_symbol() for f in features if isinstance(f.symbol, CustomSymbol)
    )
    compiled = spec.cache.compiled.get(
        (modes, spec.objectives, origins, custom), lambda: _build(spec, modes)
    )
    data = compiled.data
    K = modes.world.tree.model.unnamed_kinematics
    if K is not data.K:
        data = data._replace(K=K)
    if spec.k_order:
        prefix = modes.from_base(states_before(spec)).astype(data.prefix.dtype)
        if prefix.tobytes() != data.prefix.tobytes():
            data = data._replace(prefix=prefix)
    if spec.courses:
        limits: Any = spec.cache.limits.get(
            (modes, spec.courses),
            lambda: modes.limits(spec.T, spec.courses).astype(data.prefix.dtype),
        )
        if limits is not data.limits:
            data = data._replace(limits=limits)
    if data is not compiled.data:
        # Packed data is looked up by identity, so that it is kept.
        compiled = compiled._replace(data=data)
        spec.cache.compiled.value = compiled
    return compiled


def _build(spec: ProblemSpec, modes: ModeSequence) -> CompiledProblem:
    durations = _duration_coordinates(spec)
    return make_tables(
        program_purpose(spec),
        lambda: CompiledProblem(
            *build_chain(
                modes, spec.objectives, spec.k_order, spec.tau, durations, spec.room
            )
        ),
    )


def program_purpose(spec: ProblemSpec) -> Hashable:
    """Return what the program of a problem computes, whatever its world has besides."""
    tree = mode_sequence(spec).world.tree.model.layout.tree
    chosen_ids = {id(o) for chosen in spec.room for o in chosen}
    common = [o for o in spec.objectives if id(o) not in chosen_ids]
    rows = [
        (o.feature.symbol.name, o.feature.order, o.type.name, len(o.slices))
        for o in chain(common, *spec.room)
    ]
    return tree, spec.T, spec.k_order, tuple(rows), len(_duration_coordinates(spec))


def states_before(spec: ProblemSpec) -> Float[np.ndarray, "k_order nq"]:
    """Return the states before slice 0, the last of which is the world's.

    The step before is as long as that into slice 0, so that the velocity of the start
    is the difference of both states over that time.
    """
    C = spec.config
    states = np.tile(C.q, (spec.k_order, 1))
    if spec.k_order > 1 and spec.start_velocity is not None:
        tree = C.tree.model.layout.tree
        if len(spec.start_velocity) != tree.nv:
            raise ObjectiveError(
                f"The velocity of the start has {len(spec.start_velocity)} entries,"
                f" expected {tree.nv}: the world's joints have changed; set it again."
            )
        states[0] = integrate(tree, C.q, -spec.tau[0] * spec.start_velocity)
    return states


def certify_path(spec: ProblemSpec, x: Float[np.ndarray, "T nq"]) -> Certificate | None:
    """Return the check of a path of the solved world between its slices.

    Without `KOMO.avoid_collisions` nothing is required there, and there is none.
    """
    if not spec.needs_certificate:
        return None
    K = mode_sequence(spec).world.tree.model.unnamed_kinematics
    return certify(K, required_distances(spec), whole_path(spec, x))


def required_distances(spec: ProblemSpec) -> list[MotionPart]:
    """Return the distances that a path keeps in each mode; none without avoidance."""
    modes, avoidance = mode_sequence(spec), spec.avoidance
    if avoidance is None:
        return []
    return motion_parts(modes, avoidance, spec.T)


def whole_path(
    spec: ProblemSpec, x: Float[np.ndarray, "T nq"]
) -> Float[np.ndarray, "points nq"]:
    """Return a path of the solved world with its start as the first configuration."""
    return mode_sequence(spec).whole_path(spec.config.q, x, spec.courses)


def _duration_coordinates(spec: ProblemSpec) -> tuple[int, ...]:
    """Return the coordinate of the factor of each slice's duration; see `Chain`."""
    if not spec.durations:
        return ()
    coordinates = mode_sequence(spec).world.joints.coordinates(spec.durations)
    phases = np.arange(spec.T) // spec.slices_per_phase
    return tuple(coordinates[phases].tolist())


def step_durations(
    spec: ProblemSpec, x: Float[np.ndarray, "T nq"]
) -> Float[np.ndarray, " T"]:
    """Return the duration of the step into each slice of a solution [s]."""
    factors = _duration_coordinates(spec)
    return spec.tau * x[-1, list(factors)] if factors else spec.tau


def initial_path(spec: ProblemSpec) -> Float[np.ndarray, "T nq"]:
    """Return the initial path; if none was given, the world's state in all slices.

    Raises:
        ObjectiveError: when the world's joints have changed since it was given.
    """
    T, n = spec.T, spec.config.nq
    if spec.initial is None:
        return np.tile(spec.config.q, (T, 1))
    if spec.initial.shape != (T, n):
        raise ObjectiveError(
            f"The initial path has shape {spec.initial.shape}, expected ({T}, {n}): the"
            " world's joints have changed; initialize again."
        )
    return spec.initial


def initial_paths(
    spec: ProblemSpec, seed: int, count: int
) -> Float[np.ndarray, "count T nq"]:
    """Return the initial path and random ones, in coordinates of the solved world.

    With mode switches that world has more coordinates than the user's; see
    `sample_initial_paths`.
    """
    if spec.sampler is not None:
        return spec.sampler(seed, count)
    modes = mode_sequence(spec)
    q = spec.config.q
    initial_bytes = b"" if spec.initial is None else spec.initial.tobytes()

    def sample() -> np.ndarray:
        state, path = modes.from_base(q), modes.from_base(initial_path(spec))
        paths = sample_initial_paths(modes, state, path, seed, count)
        set_courses(modes.world, spec.courses, paths)
        # Durations are no part of a path: all starts have the initial ones.
        if spec.durations:
            durations = modes.world.joints.coordinates(spec.durations)
            paths[..., durations] = state[durations]
        paths.flags.writeable = False
        return paths

    key = (modes, q.tobytes(), initial_bytes, spec.courses, (seed, count))
    return spec.cache.initial_paths.get(key, sample)


def _is_same_key(old: tuple[Any, ...], new: tuple[Any, ...]) -> bool:
    """Return whether keys hold the same objects; only tuples and bytes are compared."""
    if len(old) != len(new):
        return False
    for a, b in zip(old, new, strict=True):
        if a is not b and not (isinstance(a, (tuple, bytes)) and a == b):
            return False
    return True

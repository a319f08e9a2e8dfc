"""Semantic annotations of a world: objects, regions, rooms, cameras, agents, states."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ..errors import ConfigError, unknown_name
from ..typing import FrameName, Frames, MatrixLike, PoseLike, RegionKind, VectorLike
from ..world.frame import NamedState
from ..world.frame_tree import FrameTree
from ..world.named_states import merge_states, restricted_states
from .agents import Agent, Camera, parse_hands
from .object_states import ObjectState, parse_state
from .objects import ObjectAnnotation
from .regions import REGION_KINDS, Region, parse_cavity, parse_support, region_frame
from .rooms import RoomMap

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Annotations:
    """Everything that predicates know of a world beyond its frames.

    Methods return new annotations and do not change these.
    """

    objects: Mapping[str, ObjectAnnotation] = field(default_factory=dict)
    """Objects by the name of their root frame."""
    regions: tuple[Region, ...] = ()
    rooms: RoomMap | None = None
    cameras: Mapping[str, Camera] = field(default_factory=dict)
    """Cameras by the name of their frame."""
    agents: Mapping[str, Agent] = field(default_factory=dict)
    states: Mapping[str, ObjectState] = field(default_factory=dict)
    """Extended states by object."""
    named_states: tuple[NamedState, ...] = ()
    """Named values of joints."""

    def with_object(self, name: str, annotation: ObjectAnnotation) -> "Annotations":
        """Add an object, or replace its category and abilities but not its state."""
        return replace(
            self,
            objects={**self.objects, name: annotation},
            states={**self.states, name: self.states.get(name, ObjectState())},
        )

    def with_region(self, region: Region) -> "Annotations":
        """Add a region."""
        return replace(self, regions=(*self.regions, region))

    def with_camera(self, camera: Camera) -> "Annotations":
        """Add a camera, or replace the one of that name."""
        return replace(self, cameras={**self.cameras, camera.name: camera})

    def with_agent(self, agent: Agent) -> "Annotations":
        """Add an agent."""
        return replace(self, agents={**self.agents, agent.name: agent})

    def with_named_states(self, states: Iterable[NamedState]) -> "Annotations":
        """Add named states, or replace those with the same group and name."""
        return replace(self, named_states=merge_states(self.named_states, states))

    def with_rooms(self, rooms: RoomMap | None) -> "Annotations":
        """Replace the map of rooms.

        Raises:
            ConfigError: for any other type.
        """
        if rooms is not None and not isinstance(rooms, RoomMap):
            raise ConfigError(f"rooms is {rooms!r}, expected a RoomMap, or None.")
        return replace(self, rooms=rooms)

    def with_state(self, name: str, values: Mapping[str, Any]) -> "Annotations":
        """Replace fields of an object's extended state.

        Raises:
            ConfigError: for unknown names, with near matches, and values that do not
                fit.
        """
        self.check_object(name)
        state = parse_state(name, self.states[name], values)
        return replace(self, states={**self.states, name: state})

    def with_states(self, states: Mapping[str, ObjectState]) -> "Annotations":
        """Replace the extended states of some objects.

        Raises:
            ConfigError: for unknown names, with near matches, and values that do not
                fit.
        """
        for name in states:
            self.check_object(name)
        parsed = {n: parse_state(n, ObjectState(), vars(s)) for n, s in states.items()}
        return replace(self, states={**self.states, **parsed})

    def check_object(self, name: str) -> ObjectAnnotation:
        """Return the annotation of an object.

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        if not isinstance(name, str) or name not in self.objects:
            raise ConfigError(
                unknown_name("object", name, self.objects)
                + " (Frames become objects by annotations.mark_object.)"
            )
        return self.objects[name]

    def restricted_to(self, frames: Set[str], joints: Set[str]) -> "Annotations":
        """Keep what refers to these frames and joints, after others were removed."""

        def of_frames(by_name: Mapping[str, T]) -> dict[str, T]:
            return {name: x for name, x in by_name.items() if name in frames}

        agents = {k: agent.restricted_to(frames) for k, agent in self.agents.items()}
        return replace(
            self,
            objects=of_frames(self.objects),
            regions=tuple(r for r in self.regions if {r.object, r.frame} <= frames),
            cameras=of_frames(self.cameras),
            agents={k: agent for k, agent in agents.items() if agent is not None},
            states=of_frames(self.states),
            named_states=restricted_states(self.named_states, joints),
        )


def make_region(
    annotations: Annotations,
    tree: FrameTree,
    object: str,
    name: str,
    kind: RegionKind,
    *,
    size: VectorLike | None,
    pose: PoseLike | None,
    planes: MatrixLike | None,
    corners: MatrixLike | None,
    frame: FrameName | None,
) -> Region:
    """Check the arguments of `Config.annotations.add_region` and make the region."""
    annotations.check_object(object)
    label = f"Region {name!r} of {object!r}"
    region_names = [r.name for r in annotations.regions if r.object == object]
    if not isinstance(name, str) or not name or name in region_names:
        problem = "the name is taken" if name in region_names else "that is no name"
        raise ConfigError(f"{label}: {problem}; expected a new string.")
    if kind not in REGION_KINDS:
        problem = unknown_name("kind of region", kind, REGION_KINDS)
        raise ConfigError(f"{label}: {problem}")
    if kind == "cavity":
        if corners is not None:
            raise ConfigError(f"{label}: corners are for supports; give planes.")
        points, faces = parse_cavity(label, size, pose, planes)
    else:
        if planes is not None:
            raise ConfigError(f"{label}: planes are for cavities; give corners.")
        points, faces = parse_support(label, size, pose, corners)
    part = region_frame(object, tree.subtree_names(object), frame)
    return Region(object, name, kind, part, points, faces)


def make_agent(
    annotations: Annotations,
    tree: FrameTree,
    name: str,
    base: FrameName,
    camera: str | None,
    hands: Frames | Mapping[str, Frames],
) -> Agent:
    """Check the arguments of `Config.annotations.add_agent` and make the agent."""
    if not isinstance(name, str) or not name or name in annotations.agents:
        problem = "is taken" if name in annotations.agents else "is no name"
        raise ConfigError(f"Agent: name {name!r} {problem}; expected a new string.")
    if camera is not None and camera not in annotations.cameras:
        raise ConfigError(unknown_name("camera", camera, annotations.cameras))
    fingers = parse_hands(name, hands)
    for frame in (base, *(f for hand, tips in fingers.items() for f in (hand, *tips))):
        tree.index(frame)
    return Agent(name, base, camera, fingers)

"""Annotations of a world: objects and agents, and all that predicates know of them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..annotations.abilities import parse_abilities
from ..annotations.agents import Agent, Camera
from ..annotations.annotations import make_agent, make_region
from ..annotations.object_states import ObjectState, StateValue
from ..annotations.objects import ObjectAnnotation, WorldObject
from ..annotations.regions import Region
from ..annotations.rooms import RoomMap
from ..typing import FrameName, Frames, MatrixLike, PoseLike, RegionKind, VectorLike
from ..world.add import add_frame
from ..world.argument_parsing import parse_name, parse_pose
from ..world.frame import Frame
from .facet import Facet


class WorldAnnotations(Facet):
    """Annotations of frames, which predicates read; `Config.annotations`."""

    __slots__ = ()

    @property
    def regions(self) -> tuple[Region, ...]:
        """Cavities and supports of objects, in the order in which they were added."""
        return self._annotations.regions

    def add_region(
        self,
        object: str,
        name: str,
        kind: RegionKind = "cavity",
        *,
        size: VectorLike | None = None,
        pose: PoseLike | None = None,
        planes: MatrixLike | None = None,
        corners: MatrixLike | None = None,
        frame: FrameName | None = None,
    ) -> Region:
        """Annotate a convex cavity of an object, or a face that supports others.

        Relaxations of `InsideOf` and `OnTopOf` try annotated regions first: these have
        simple constraints, which a solver satisfies from any start.

        Args:
            object: name of the object.
            name: of the region, not yet one of the object's.
            kind: "cavity" or "support".
            size: of a box (3,), or of a rectangle (2,) [m].
            pose: of its middle in the frame (7,); z of a rectangle points to where
                objects stand. Default: the frame's own.
            planes: of a cavity (n, 4): rows (nx, ny, nz, b) in the frame, with
                normal · p <= b inside.
            corners: of a support (n, 3) in the frame, counter-clockwise seen from
                where objects stand.
            frame: the part of the object that it belongs to; None: the root.

        Raises:
            ConfigError: for unknown names, with near matches, and what is no convex
                polytope or polygon.
        """
        region = make_region(
            self._annotations,
            self._tree,
            object,
            name,
            kind,
            size=size,
            pose=pose,
            planes=planes,
            corners=corners,
            frame=frame,
        )
        self._annotations = self._annotations.with_region(region)
        return region

    @property
    def rooms(self) -> RoomMap | None:
        """The map of rooms on the floor; None: unknown."""
        return self._annotations.rooms

    @rooms.setter
    def rooms(self, rooms: RoomMap | None) -> None:
        self._annotations = self._annotations.with_rooms(rooms)

    @property
    def states(self) -> dict[str, ObjectState]:
        """Extended states (temperature, wetness, …) of the objects by name."""
        return dict(self._annotations.states)

    @states.setter
    def states(self, states: Mapping[str, ObjectState]) -> None:
        self._annotations = self._annotations.with_states(states)

    def set_state(self, name: str, **values: StateValue) -> None:
        """Change extended states of an object, e.g. `temperature=80.0`.

        Args:
            name: of the object.
            **values: fields of `ObjectState`.

        Raises:
            ConfigError: for unknown names, with near matches, and values that do not
                fit.
        """
        self._annotations = self._annotations.with_state(name, values)

    @property
    def cameras(self) -> dict[str, Camera]:
        """Cameras by name, each on the frame of that name."""
        return dict(self._annotations.cameras)

    def add_camera(
        self,
        name: str,
        parent: FrameName | None = "world",
        *,
        position: VectorLike | None = None,
        quaternion: VectorLike | None = None,
        pose: PoseLike | None = None,
        vertical_fov: float = np.pi / 2,
        width: int = 128,
        height: int = 128,
        near: float = 0.1,
        far: float = 100.0,
    ) -> Camera:
        """Add a camera and its frame, x forward, y left, z up.

        Args:
            name: of the camera and of its frame.
            parent: the frame it is attached to.
            position: in the parent (3,) [m].
            quaternion: in the parent (4,).
            pose: both at once (7,).
            vertical_fov: full angle from the lower to the upper edge [rad].
            width: pixels.
            height: pixels.
            near: nothing at less depth is seen [m].
            far: nothing at more depth is seen [m].

        Raises:
            ConfigError: for an argument that does not fit.
        """
        camera = Camera(name, vertical_fov, width, height, near, far)
        origin = parse_pose(f"frame {name!r}", position, quaternion, pose)
        self._tree = add_frame(
            self._tree, Frame(parse_name(name), None, origin), parent
        )
        self._annotations = self._annotations.with_camera(camera)
        return camera

    @property
    def agents(self) -> dict[str, Agent]:
        """Agents by name."""
        return dict(self._annotations.agents)

    def add_agent(
        self,
        name: str,
        base: FrameName,
        *,
        camera: str | None = None,
        hands: Frames | Mapping[str, Frames] = (),
    ) -> Agent:
        """Declare the frames of an agent: its base, its camera and its hands.

        Args:
            name: of the agent; it may be a frame's or an object's too.
            base: the frame that says where it is.
            camera: a camera of this world.
            hands: frames of its hands, e.g. ["panda_hand"], with all fingers that
                joints hold on them; or fingers by hand, {"hand": ["left", "right"]}.

        Raises:
            ConfigError: for unknown names, with near matches.
        """
        agent = make_agent(self._annotations, self._tree, name, base, camera, hands)
        self._annotations = self._annotations.with_agent(agent)
        return agent

    def mark_object(
        self,
        frame: FrameName,
        category: str | None = None,
        abilities: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> WorldObject:
        """Declare the subtree of a frame an object, under the frame's name.

        Raises:
            ConfigError: for unknown abilities or parameters, with near matches.
        """
        marked = self._tree.frames[self._tree.own_index(frame)]
        name = marked.name
        parsed = parse_abilities(name, {} if abilities is None else abilities)
        annotation = ObjectAnnotation(category, parsed)
        self._annotations = self._annotations.with_object(name, annotation)
        if marked.joint is None:
            self._world.hold(name)
        return self._world.object(name)

"""What predicates know of a world: objects, regions, states, cameras, agents, rooms."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import ConfigError, unknown_name
from .abilities import parse_abilities
from .agents import Agent, Camera, parse_hands
from .assembling import AssembledWorld
from .object_states import ObjectState, parse_state
from .objects import WorldObject
from .regions import REGION_KINDS, Region, parse_cavity, parse_support, region_frame
from .rooms import RoomMap


class AnnotatedWorld(AssembledWorld):
    """A world that says which of its frames are objects, cameras and agents."""

    @property
    def cameras(self) -> dict[str, Camera]:
        """Cameras by name, each on the frame of that name."""
        return dict(self._cameras)

    @property
    def agents(self) -> dict[str, Agent]:
        """Agents by name."""
        return dict(self._agents)

    @property
    def rooms(self) -> RoomMap | None:
        """Which part of the floor belongs to which room; None: nothing is known."""
        return self._rooms

    @rooms.setter
    def rooms(self, rooms: Any) -> None:
        if rooms is not None and not isinstance(rooms, RoomMap):
            raise ConfigError(f"rooms is {rooms!r}, expected a RoomMap, or None.")
        self._rooms = rooms

    def add_region(
        self,
        object: Any,
        name: Any,
        kind: Any = "cavity",
        *,
        size: Any = None,
        pose: Any = None,
        planes: Any = None,
        corners: Any = None,
        frame: Any = None,
    ) -> Region:
        """Annotate a convex cavity of an object, or a face on which things stand.

        Rows of `InsideOf` and `OnTopOf` use them, and check them before: they are
        simple then, and lead there from anywhere.

        Args:
            object: name of the object.
            name: of the region, not yet one of the object's.
            kind: "cavity" or "support".
            size: of a box (3,), or of a rectangle (2,) [m].
            pose: of its middle in the frame (7,); z of a rectangle points to where
                things stand. Default: the frame's own.
            planes: of a cavity (n, 4): rows (nx, ny, nz, b) in the frame, with
                normal · p <= b inside.
            corners: of a support (n, 3) in the frame, counter-clockwise seen from
                where things stand.
            frame: the part of the object that it belongs to; None: the root.

        Raises:
            ConfigError: for unknown names, with near matches, and what is no convex
                polytope or polygon.
        """
        owner = self.object(object)
        what = f"Region {name!r} of {owner.name!r}"
        taken = [r.name for r in self._regions if r.object == owner.name]
        if not isinstance(name, str) or not name or name in taken:
            problem = "the name is taken" if name in taken else "that is no name"
            raise ConfigError(f"{what}: {problem}; expected a new string.")
        if kind not in REGION_KINDS:
            raise ConfigError(
                f"{what}: {unknown_name('kind of region', kind, REGION_KINDS)}"
            )
        if kind == "cavity":
            if corners is not None:
                raise ConfigError(f"{what}: corners are for supports; give planes.")
            points, faces = parse_cavity(what, size, pose, planes)
        else:
            if planes is not None:
                raise ConfigError(f"{what}: planes are for cavities; give corners.")
            points, faces = parse_support(what, size, pose, corners)
        part = region_frame(owner.name, owner.parts, frame)
        made = Region(owner.name, name, kind, part, points, faces)
        self._regions += (made,)
        return made

    def object(self, name: Any) -> WorldObject:
        """The object of that name.

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        if not isinstance(name, str) or name not in self._objects:
            raise ConfigError(
                unknown_name("object", name, self._objects)
                + " (Frames become objects by mark_object.)"
            )
        return self._objects[name]

    @property
    def states(self) -> dict[str, ObjectState]:
        """Extended states (temperature, wetness, …) of the objects by name."""
        return dict(self._states)

    @states.setter
    def states(self, states: Mapping[str, ObjectState]) -> None:
        own = [self.object(name).name for name in states]
        made = [parse_state(n, ObjectState(), vars(states[n])) for n in own]
        self._states |= dict(zip(own, made, strict=True))

    def set_state(self, name: Any, **values: Any) -> None:
        """Change extended states of an object, e.g. `temperature=80.0`.

        Args:
            name: of the object.
            **values: fields of `ObjectState`.

        Raises:
            ConfigError: for unknown names, with near matches, and values that do not
                fit.
        """
        own = self.object(name).name
        self._states[own] = parse_state(own, self._states[own], values)

    def mark_object(
        self,
        frame: str,
        category: str | None = None,
        abilities: Any = None,
    ) -> WorldObject:
        """Declare the subtree of a frame an object, under the frame's name.

        Raises:
            ConfigError: for unknown abilities or parameters, with near matches.
        """
        name = self._frames[self._own(frame)].name
        made = parse_abilities(name, {} if abilities is None else abilities)
        self._objects[name] = WorldObject(self, name, category, made)
        self._states.setdefault(name, ObjectState())
        return self._objects[name]

    def add_camera(
        self,
        name: Any,
        parent: Any = "world",
        *,
        position: Any = None,
        quaternion: Any = None,
        pose: Any = None,
        vertical_fov: Any = np.pi / 2,
        width: Any = 128,
        height: Any = 128,
        near: Any = 0.1,
        far: Any = 100.0,
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
            ConfigError: saying what does not fit.
        """
        camera = Camera(name, vertical_fov, width, height, near, far)
        self.add_frame(
            name, parent, position=position, quaternion=quaternion, pose=pose
        )
        self._cameras[name] = camera
        return camera

    def add_agent(
        self, name: Any, base: Any, *, camera: Any = None, hands: Any = ()
    ) -> Agent:
        """Say which frames make an agent: where it is, looks from and grasps with.

        Args:
            name: of the agent; it may be a frame's or an object's too.
            base: the frame that says where it is.
            camera: a camera of this world.
            hands: frames of its hands, e.g. ["panda_hand"], with all fingers that
                joints hold on them; or fingers by hand, {"hand": ["left", "right"]}.

        Raises:
            ConfigError: for unknown names, with near matches.
        """
        if not isinstance(name, str) or not name or name in self._agents:
            problem = "is taken" if name in self._agents else "is no name"
            raise ConfigError(f"Agent: name {name!r} {problem}; expected a new string.")
        if camera is not None and camera not in self._cameras:
            raise ConfigError(unknown_name("camera", camera, self._cameras))
        grips = parse_hands(name, hands)
        for frame in (base, *(f for k, v in grips.items() for f in (k, *v))):
            self.frame(frame)
        self._agents[name] = Agent(name, base, camera, grips)
        return self._agents[name]

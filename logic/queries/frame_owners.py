"""Whose frames are whose: the things of a world, as answers name them."""

from posewise.robots.config import Config
from posewise.robots.geometry.shapes import Plane
from posewise.robots.world.agents import Agent

from ..geometry.frame_groups import FrameGroup, has_collision_shape, subtree


def frames_by_owner(C: Config) -> dict[str, FrameGroup]:
    """All solid frames by the things they belong to, in the order of the frames.

    A thing is an object, or an agent, with what hangs on its root but no other thing;
    or a frame alone.
    """
    roots = {C.index(agent.base): name for name, agent in C.agents.items()}
    roots |= {C.index(name): name for name in C.objects}
    members: dict[str, list[int]] = {}
    for i, frame in enumerate(C.frames):
        if not has_collision_shape(C, i):
            continue
        up: int | None = i
        while up is not None and up not in roots:
            up = C.frames[up].parent
        name = frame.name if up is None else roots[up]
        members.setdefault(name, []).append(i)
    return {name: FrameGroup(C, name, tuple(found)) for name, found in members.items()}


def robot_frames(C: Config, base: str) -> tuple[int, ...]:
    """A robot's frames: its base and all that hangs on it, but no object."""
    return subtree(C, C.index(base), {C.index(name) for name in C.objects})


def is_floor(C: Config, thing: FrameGroup) -> bool:
    """Whether a thing is called "floor", is of such a category, or has a Plane."""
    name = thing.name
    category = C.objects[name].category if name in C.objects else None
    if name == "floor" or (category or "").split(".")[0] == "floor":
        return True
    shapes = [g.shape for i in thing.frames for g in C.frames[i].geometries]
    return any(isinstance(shape, Plane) for shape in shapes)


def agent_with_camera(C: Config, camera: str) -> Agent | None:
    """The agent that looks with a camera."""
    looking = [agent for agent in C.agents.values() if agent.camera == camera]
    return looking[0] if looking else None

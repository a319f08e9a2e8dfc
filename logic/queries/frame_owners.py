"""Owners of frames: the objects, agents and frames of a world by name."""

from posewise.robots.annotations.agents import Agent
from posewise.robots.config import Config
from posewise.robots.geometry.shapes import Plane
from posewise.robots.typing import FrameName

from ..geometry.frame_groups import FrameGroup, has_collision_shape, subtree


def frames_by_owner(C: Config) -> dict[str, FrameGroup]:
    """Return all frames with collision shapes by their owners, in order of the frames.

    An owner is an object or an agent, with everything below its root except other
    owners; or a single frame.
    """
    roots = {C.index(agent.base): name for name, agent in C.annotations.agents.items()}
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
    return {name: FrameGroup(C, name, tuple(i)) for name, i in members.items()}


def robot_frames(C: Config, base: FrameName) -> tuple[int, ...]:
    """Return a robot's frames: its base and everything below, except objects."""
    return subtree(C, C.index(base), {C.index(name) for name in C.objects})


def is_floor(C: Config, group: FrameGroup) -> bool:
    """Return whether a group is called "floor", is of such a category, or a Plane."""
    name = group.name
    category = C.objects[name].category if name in C.objects else None
    if name == "floor" or (category or "").split(".")[0] == "floor":
        return True
    shapes = [g.shape for i in group.frames for g in C.frames[i].geometries]
    return any(isinstance(shape, Plane) for shape in shapes)


def agent_with_camera(C: Config, camera: str) -> Agent | None:
    """Return the agent that uses a camera."""
    agents = [
        agent for agent in C.annotations.agents.values() if agent.camera == camera
    ]
    return agents[0] if agents else None

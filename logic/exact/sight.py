"""Sight: an object that is hit first by the ray through a pixel of a camera."""

from posewise.robots.annotations.agents import Camera
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.typing import FrameName

from ..geometry.agents import find_agent
from ..geometry.camera_rays import visible_pixels
from ..geometry.frame_groups import find_object, require_shapes
from .verdict import Verdict


def sight_verdict(C: Config, a: FrameName, agent: str) -> Verdict:
    """Return whether a pixel of an agent's camera shows a; see `InFoVOfAgent`."""
    C = C.visible_copy()
    camera, group = agent_camera(C, agent), require_shapes(find_object(C, a))
    truth = any(visible.any() for visible in visible_pixels(group, camera))

    def reason() -> str:
        chunks = list(visible_pixels(group, camera))
        visible, hit = sum(int(x.sum()) for x in chunks), sum(map(len, chunks))
        pixels = camera.width * camera.height
        shown = f"{visible} of {pixels} pixels of {camera.name}"
        if visible:
            hidden = hit - visible
            return f"{shown} show {a}; {hidden} more would, unhidden."
        why = f"all {hit} are hidden" if hit else "it is out of view or too small"
        return f"{shown} show {a}: {why}."

    return Verdict(truth, reason)


def agent_camera(C: Config, agent: str) -> Camera:
    """Return the camera of an agent.

    Raises:
        ConfigError: for an unknown name, and for an agent without a camera.
    """
    named_agent = find_agent(C, agent)
    if named_agent.camera is None:
        raise ConfigError(
            f"Agent {agent!r} has no camera; C.annotations.add_camera('eyes', ...),"
            f" then C.annotations.add_agent({agent!r}, base=..., camera='eyes')."
        )
    return C.annotations.cameras[named_agent.camera]

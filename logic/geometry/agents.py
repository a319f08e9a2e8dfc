"""Agents of a world by name."""

from posewise.robots.annotations.agents import Agent
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name


def find_agent(C: Config, name: str) -> Agent:
    """Return an agent; a frame or camera counts as an agent at its place.

    Raises:
        ConfigError: for an unknown name, with near matches.
    """
    if name in C.annotations.agents:
        return C.annotations.agents[name]
    if name not in C.frame_names:
        known = [*C.annotations.agents, *C.frame_names]
        raise ConfigError(
            unknown_name("agent or frame", name, known)
            + f" (To make an agent: C.annotations.add_agent({name!r}, base=...).)"
        )
    return Agent(name, name, camera=name if name in C.annotations.cameras else None)

"""The frames that press buttons."""

from posewise.robots.config import Config

from ..exact.grasps import fingers


def button_fingers(C: Config) -> tuple[str, ...]:
    """Frames that press buttons: the fingers of all agents' hands."""
    every = (pair for agent in C.agents.values() for pair in agent.hands.items())
    found = (f.name for hand, named in every for f in fingers(C, hand, named))
    return tuple(dict.fromkeys(found))

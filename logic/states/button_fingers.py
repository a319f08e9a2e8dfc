"""The frames that press buttons."""

from posewise.robots.config import Config

from ..geometry.hands import fingers


def button_fingers(C: Config) -> tuple[str, ...]:
    """Return the names of the finger frames of all agents' hands."""
    hands = (
        pair for agent in C.annotations.agents.values() for pair in agent.hands.items()
    )
    names = (f.name for hand, frames in hands for f in fingers(C, hand, frames))
    return tuple(dict.fromkeys(names))

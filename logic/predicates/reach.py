"""Reach of an agent: the distance of an object from the agent's base."""

from dataclasses import dataclass, field

from posewise.robots.annotations.agents import DEFAULT_REACH
from posewise.robots.config import Config
from posewise.robots.typing import FrameName
from posewise.robots.validation import number

from ..errors import PredicateError
from ..exact.reach import reach_verdict
from ..exact.verdict import Verdict
from ..geometry.agents import find_agent
from ..relaxed.constraint_terms import ConstraintTerm, Inequality
from ..relaxed.object_features import object_pair
from ..relaxed.reach import reach_rows
from .verdict_predicate import SemanticPredicate


@dataclass(frozen=True)
class InReachOfAgent(SemanticPredicate):
    """a's centre of mass is less than 2 m away from the origin of the agent's base.

    Neither the surface nor the arm matters. "igibson": the centre is that of a's root
    frame. "document" is the same as "posewise".

    The default "posewise" differs only for articulated objects.

    Args:
        a: an object or frame.
        agent: an agent of `C.annotations.add_agent`, or a frame.
        reach: the distance [m].

    Raises:
        PredicateError: when `reach` is not a length > 0.
        ConfigError: when evaluated, for unknown names.
    """

    a: FrameName
    agent: str
    reach: float = field(default=DEFAULT_REACH, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        number(
            "InReachOfAgent: reach",
            self.reach,
            "> 0 (metres)",
            lambda x: x > 0,
            PredicateError,
        )

    def verdict(self, C: Config) -> Verdict:
        return reach_verdict(C, self.a, self.agent, self.reach, self.semantics)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return a row of the distance of the centre of mass from the base."""
        root_only = self.semantics == "igibson"
        pair = object_pair(C, self.a, find_agent(C, self.agent).base, root_only)
        return Inequality(pair.feature(reach_rows(self.reach, truth)))

"""Predicates, states, queries and criteria: each exact, and relaxed for the solver."""

from .agents import InReachOfAgent as InReachOfAgent
from .agents import InSameRoomAsAgent as InSameRoomAsAgent
from .contact import InContactWith as InContactWith
from .containment import InsideOf as InsideOf
from .floors import OnFloor as OnFloor
from .grasps import InHandOfAgent as InHandOfAgent
from .nearness import NextTo as NextTo
from .opening import Open as Open
from .predicate import Predicate as Predicate
from .predicate import PredicateError as PredicateError
from .sight import InFoVOfAgent as InFoVOfAgent
from .support import OnTopOf as OnTopOf
from .support import Under as Under

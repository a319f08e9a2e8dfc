"""Predicates, states, queries and criteria: each exact, and relaxed for the solver."""

from . import handling_rows as handling_rows
from . import heating as heating
from . import thermal_rows as thermal_rows
from .agents import InReachOfAgent as InReachOfAgent
from .agents import InSameRoomAsAgent as InSameRoomAsAgent
from .cleanliness import Dusty as Dusty
from .cleanliness import Soaked as Soaked
from .cleanliness import Stained as Stained
from .contact import InContactWith as InContactWith
from .containment import InsideOf as InsideOf
from .criterion import Criterion as Criterion
from .event import EventCommands as EventCommands
from .event import EventError as EventError
from .event import SimulationSingleEvent as SimulationSingleEvent
from .event_builders import EventBodyTooLowBuilder as EventBodyTooLowBuilder
from .event_builders import EventBuilder as EventBuilder
from .event_builders import EventContactBuilder as EventContactBuilder
from .event_builders import (
    EventContactInInitialPositionBuilder as EventContactInInitialPositionBuilder,
)
from .event_builders import EventContactTimeOutBuilder as EventContactTimeOutBuilder
from .event_builders import EventFlyingApartBuilder as EventFlyingApartBuilder
from .event_builders import EventGraspBuilder as EventGraspBuilder
from .event_builders import EventSlipOutBuilder as EventSlipOutBuilder
from .event_builders import (
    EventStopExternalForceBuilder as EventStopExternalForceBuilder,
)
from .event_loop import SimulationResult as SimulationResult
from .event_loop import run_events as run_events
from .events import EventBodyTooLow as EventBodyTooLow
from .events import EventContact as EventContact
from .events import EventContactInInitialPosition as EventContactInInitialPosition
from .events import EventContactTimeOut as EventContactTimeOut
from .events import EventFlyingApart as EventFlyingApart
from .events import EventGrasp as EventGrasp
from .events import EventSlipOut as EventSlipOut
from .events import EventStopExternalForce as EventStopExternalForce
from .floors import OnFloor as OnFloor
from .grasp_criteria import GraspTimeCriterion as GraspTimeCriterion
from .grasp_criteria import (
    InstantContactingLinkCriterion as InstantContactingLinkCriterion,
)
from .grasp_criteria import InstantForceCriterion as InstantForceCriterion
from .grasp_criteria import InstantObjectCOGCriterion as InstantObjectCOGCriterion
from .grasps import InHandOfAgent as InHandOfAgent
from .nearness import NextTo as NextTo
from .opening import Open as Open
from .predicate import Predicate as Predicate
from .predicate import PredicateError as PredicateError
from .rollout import at as at
from .rollout import rollout as rollout
from .run_criteria import FinalPositionCriterion as FinalPositionCriterion
from .run_criteria import ForceCriterion as ForceCriterion
from .run_criteria import TimeCriterion as TimeCriterion
from .sensors import SensorReading as SensorReading
from .sight import InFoVOfAgent as InFoVOfAgent
from .simulation_reward import SimulationReward as SimulationReward
from .smooth_events import SmoothResult as SmoothResult
from .smooth_events import smooth_events as smooth_events
from .support import OnTopOf as OnTopOf
from .support import Under as Under
from .switched import Sliced as Sliced
from .switched import ToggledOn as ToggledOn
from .temperature import dwell_steps as dwell_steps
from .thermal import Burnt as Burnt
from .thermal import Cooked as Cooked
from .thermal import Frozen as Frozen
from .trace import Contact as Contact
from .trace import Trace as Trace
from .trace import TraceError as TraceError
from .trace_arrays import TraceArrays as TraceArrays
from .trace_arrays import trace_arrays as trace_arrays

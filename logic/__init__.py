"""Predicates, states, queries and criteria: each exact, and relaxed for the solver."""

from . import bddl as bddl
from .branches import Branch as Branch
from .branches import branches as branches
from .branching import BranchPlacement as BranchPlacement
from .branching import solve_branches as solve_branches
from .criteria.body_events import EventBodyTooLow as EventBodyTooLow
from .criteria.body_events import EventFlyingApart as EventFlyingApart
from .criteria.contact_events import EventContact as EventContact
from .criteria.contact_events import (
    EventContactInInitialPosition as EventContactInInitialPosition,
)
from .criteria.contact_events import EventContactTimeOut as EventContactTimeOut
from .criteria.contact_events import EventSlipOut as EventSlipOut
from .criteria.criterion import Criterion as Criterion
from .criteria.event import EventCommands as EventCommands
from .criteria.event import EventError as EventError
from .criteria.event import SimulationSingleEvent as SimulationSingleEvent
from .criteria.event_builders import EventBodyTooLowBuilder as EventBodyTooLowBuilder
from .criteria.event_builders import EventBuilder as EventBuilder
from .criteria.event_builders import EventContactBuilder as EventContactBuilder
from .criteria.event_builders import (
    EventContactInInitialPositionBuilder as EventContactInInitialPositionBuilder,
)
from .criteria.event_builders import (
    EventContactTimeOutBuilder as EventContactTimeOutBuilder,
)
from .criteria.event_builders import EventFlyingApartBuilder as EventFlyingApartBuilder
from .criteria.event_builders import EventGraspBuilder as EventGraspBuilder
from .criteria.event_builders import EventSlipOutBuilder as EventSlipOutBuilder
from .criteria.event_builders import (
    EventStopExternalForceBuilder as EventStopExternalForceBuilder,
)
from .criteria.event_loop import SimulationResult as SimulationResult
from .criteria.event_loop import run_events as run_events
from .criteria.forces import ClockXZForces as ClockXZForces
from .criteria.forces import ExternalForces as ExternalForces
from .criteria.forces import ForceTemplate as ForceTemplate
from .criteria.forces import NullGravity as NullGravity
from .criteria.forces import RandomForces as RandomForces
from .criteria.forces import YaxisSin as YaxisSin
from .criteria.grasp_criteria import GraspTimeCriterion as GraspTimeCriterion
from .criteria.grasp_criteria import (
    InstantContactingLinkCriterion as InstantContactingLinkCriterion,
)
from .criteria.grasp_criteria import InstantForceCriterion as InstantForceCriterion
from .criteria.grasp_criteria import (
    InstantObjectCOGCriterion as InstantObjectCOGCriterion,
)
from .criteria.grasp_events import EventGrasp as EventGrasp
from .criteria.grasp_events import EventStopExternalForce as EventStopExternalForce
from .criteria.grasp_simulation import simulate_grasp as simulate_grasp
from .criteria.on_paths import OnPath as OnPath
from .criteria.path_trace import path_trace as path_trace
from .criteria.run_criteria import FinalPositionCriterion as FinalPositionCriterion
from .criteria.run_criteria import ForceCriterion as ForceCriterion
from .criteria.run_criteria import TimeCriterion as TimeCriterion
from .criteria.sensors import SensorReading as SensorReading
from .criteria.simulation_reward import SimulationReward as SimulationReward
from .criteria.smooth_events import SmoothResult as SmoothResult
from .criteria.smooth_events import smooth_events as smooth_events
from .criteria.trace import Contact as Contact
from .criteria.trace import Trace as Trace
from .criteria.trace import TraceError as TraceError
from .criteria.trace_arrays import TraceArrays as TraceArrays
from .criteria.trace_arrays import trace_arrays as trace_arrays
from .errors import PredicateError as PredicateError
from .formula import Formula as Formula
from .formula import leaves as leaves
from .formulas import And as And
from .formulas import AtLeast as AtLeast
from .formulas import Implies as Implies
from .formulas import Not as Not
from .formulas import Or as Or
from .geometry.agents import InReachOfAgent as InReachOfAgent
from .geometry.agents import InSameRoomAsAgent as InSameRoomAsAgent
from .geometry.contact import InContactWith as InContactWith
from .geometry.containment import InsideOf as InsideOf
from .geometry.floors import OnFloor as OnFloor
from .geometry.grasps import InHandOfAgent as InHandOfAgent
from .geometry.in_rooms import InRoom as InRoom
from .geometry.nearness import NextTo as NextTo
from .geometry.opening import Open as Open
from .geometry.sight import InFoVOfAgent as InFoVOfAgent
from .geometry.support import OnTopOf as OnTopOf
from .geometry.support import Under as Under
from .pairs import ForNPairs as ForNPairs
from .pairs import ForPairs as ForPairs
from .predicate import Predicate as Predicate
from .quantifiers import Exists as Exists
from .quantifiers import ForAll as ForAll
from .quantifiers import ForN as ForN
from .queries.blocking import Blocking as Blocking
from .queries.blocking import blocking as blocking
from .queries.contact import Touching as Touching
from .queries.contact import contact as contact
from .queries.costmap import Costmap as Costmap
from .queries.costmaps import gaussian_costmap as gaussian_costmap
from .queries.costmaps import occupancy_costmap as occupancy_costmap
from .queries.costmaps import reachability_costmap as reachability_costmap
from .queries.costmaps import ring_costmap as ring_costmap
from .queries.costmaps import visibility_costmap as visibility_costmap
from .queries.occluding import Occluding as Occluding
from .queries.occluding import occluding as occluding
from .queries.reachable import Reach as Reach
from .queries.reachable import Reachable as Reachable
from .queries.reachable import reach as reach
from .queries.reachable import reachable as reachable
from .queries.stable import Stable as Stable
from .queries.stable import stable as stable
from .queries.supporting import Supporting as Supporting
from .queries.supporting import supporting as supporting
from .queries.visible import Visible as Visible
from .queries.visible import visible as visible
from .states import handling_rows as handling_rows
from .states import heating as heating
from .states import thermal_rows as thermal_rows
from .states.cleanliness import Covered as Covered
from .states.cleanliness import Dusty as Dusty
from .states.cleanliness import Soaked as Soaked
from .states.cleanliness import Stained as Stained
from .states.clock import resample as resample
from .states.containers import Contains as Contains
from .states.containers import Filled as Filled
from .states.rollout import at as at
from .states.rollout import rollout as rollout
from .states.switched import Sliced as Sliced
from .states.switched import ToggledOn as ToggledOn
from .states.temperature import dwell_steps as dwell_steps
from .states.thermal import Burnt as Burnt
from .states.thermal import Cooked as Cooked
from .states.thermal import Frozen as Frozen
from .states.thermal import Heated as Heated
from .states.thermal import OnFire as OnFire
from .temporal import Always as Always
from .temporal import Eventually as Eventually
from .temporal import Sequence as Sequence
from .temporal import Until as Until

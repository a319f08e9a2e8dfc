"""Predicates, states, queries and criteria: each exact, and relaxed for the solver."""

from . import bddl as bddl
from .errors import PredicateError as PredicateError
from .exact.agents import InReachOfAgent as InReachOfAgent
from .exact.agents import InSameRoomAsAgent as InSameRoomAsAgent
from .exact.contact import InContactWith as InContactWith
from .exact.containment import InsideOf as InsideOf
from .exact.floors import OnFloor as OnFloor
from .exact.grasps import InHandOfAgent as InHandOfAgent
from .exact.joint_openness import Open as Open
from .exact.next_to import NextTo as NextTo
from .exact.rooms import InRoom as InRoom
from .exact.sight import InFoVOfAgent as InFoVOfAgent
from .exact.support import OnTopOf as OnTopOf
from .exact.support import Under as Under
from .formulas.connectives import And as And
from .formulas.connectives import AtLeast as AtLeast
from .formulas.connectives import Implies as Implies
from .formulas.connectives import Not as Not
from .formulas.connectives import Or as Or
from .formulas.formula import Formula as Formula
from .formulas.formula import leaves as leaves
from .formulas.pair_quantifiers import ForNPairs as ForNPairs
from .formulas.pair_quantifiers import ForPairs as ForPairs
from .formulas.predicate import Predicate as Predicate
from .formulas.quantifiers import Exists as Exists
from .formulas.quantifiers import ForAll as ForAll
from .formulas.quantifiers import ForN as ForN
from .formulas.temporal import Always as Always
from .formulas.temporal import Eventually as Eventually
from .formulas.temporal import Sequence as Sequence
from .formulas.temporal import Until as Until
from .planning.branch_placement import BranchPlacement as BranchPlacement
from .planning.branch_placement import solve_branches as solve_branches
from .planning.dnf_search import Branch as Branch
from .planning.dnf_search import branches as branches
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
from .rostok.body_events import EventBodyTooLow as EventBodyTooLow
from .rostok.body_events import EventFlyingApart as EventFlyingApart
from .rostok.contact_events import EventContact as EventContact
from .rostok.contact_events import (
    EventContactInInitialPosition as EventContactInInitialPosition,
)
from .rostok.contact_events import EventContactTimeOut as EventContactTimeOut
from .rostok.contact_events import EventSlipOut as EventSlipOut
from .rostok.criterion import Criterion as Criterion
from .rostok.event import EventCommands as EventCommands
from .rostok.event import EventError as EventError
from .rostok.event import SimulationSingleEvent as SimulationSingleEvent
from .rostok.event_builders import EventBodyTooLowBuilder as EventBodyTooLowBuilder
from .rostok.event_builders import EventBuilder as EventBuilder
from .rostok.event_builders import EventContactBuilder as EventContactBuilder
from .rostok.event_builders import (
    EventContactInInitialPositionBuilder as EventContactInInitialPositionBuilder,
)
from .rostok.event_builders import (
    EventContactTimeOutBuilder as EventContactTimeOutBuilder,
)
from .rostok.event_builders import EventFlyingApartBuilder as EventFlyingApartBuilder
from .rostok.event_builders import EventGraspBuilder as EventGraspBuilder
from .rostok.event_builders import EventSlipOutBuilder as EventSlipOutBuilder
from .rostok.event_builders import (
    EventStopExternalForceBuilder as EventStopExternalForceBuilder,
)
from .rostok.event_loop import SimulationResult as SimulationResult
from .rostok.event_loop import run_events as run_events
from .rostok.forces import ClockXZForces as ClockXZForces
from .rostok.forces import ExternalForces as ExternalForces
from .rostok.forces import ForceTemplate as ForceTemplate
from .rostok.forces import NullGravity as NullGravity
from .rostok.forces import RandomForces as RandomForces
from .rostok.forces import YaxisSin as YaxisSin
from .rostok.grasp_criteria import GraspTimeCriterion as GraspTimeCriterion
from .rostok.grasp_criteria import (
    InstantContactingLinkCriterion as InstantContactingLinkCriterion,
)
from .rostok.grasp_criteria import InstantForceCriterion as InstantForceCriterion
from .rostok.grasp_criteria import (
    InstantObjectCOGCriterion as InstantObjectCOGCriterion,
)
from .rostok.grasp_events import EventGrasp as EventGrasp
from .rostok.grasp_events import EventStopExternalForce as EventStopExternalForce
from .rostok.grasp_simulation import simulate_grasp as simulate_grasp
from .rostok.on_paths import OnPath as OnPath
from .rostok.path_trace import path_trace as path_trace
from .rostok.run_criteria import FinalPositionCriterion as FinalPositionCriterion
from .rostok.run_criteria import ForceCriterion as ForceCriterion
from .rostok.run_criteria import TimeCriterion as TimeCriterion
from .rostok.sensors import SensorReading as SensorReading
from .rostok.simulation_reward import SimulationReward as SimulationReward
from .rostok.smooth_events import SmoothResult as SmoothResult
from .rostok.smooth_events import smooth_events as smooth_events
from .rostok.trace import Contact as Contact
from .rostok.trace import Trace as Trace
from .rostok.trace import TraceError as TraceError
from .rostok.trace_arrays import TraceArrays as TraceArrays
from .rostok.trace_arrays import trace_arrays as trace_arrays
from .states import heating as heating
from .states.cleanliness import Covered as Covered
from .states.cleanliness import Dusty as Dusty
from .states.cleanliness import Soaked as Soaked
from .states.cleanliness import Stained as Stained
from .states.clock import resample as resample
from .states.containers import Contains as Contains
from .states.containers import Filled as Filled
from .states.relaxed import handling_rows as handling_rows
from .states.relaxed import thermal_rows as thermal_rows
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

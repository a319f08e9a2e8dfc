"""Events, criteria and external forces of rostok for grasps: exact and smooth.

Names and argument names are those of rostok. `run_events` checks events along a
recorded `Trace` exactly; `smooth_events` computes their differentiable probabilities.
Criteria reward either result, and `CriterionObjective` adds them to a KOMO as costs.
"""

from posewise.lazy_names import renamed

from .body_events import EventBodyTooLow as EventBodyTooLow
from .body_events import EventFlyingApart as EventFlyingApart
from .contact_events import EventContact as EventContact
from .contact_events import (
    EventContactInInitialPosition as EventContactInInitialPosition,
)
from .contact_events import EventContactTimeOut as EventContactTimeOut
from .contact_events import EventSlipOut as EventSlipOut
from .criterion import Criterion as Criterion
from .criterion_objective import CriterionObjective as CriterionObjective
from .errors import EventError as EventError
from .errors import TraceError as TraceError
from .event import EventCommands as EventCommands
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
from .forces import ClockXZForces as ClockXZForces
from .forces import ExternalForces as ExternalForces
from .forces import ForceTemplate as ForceTemplate
from .forces import NullGravity as NullGravity
from .forces import RandomForces as RandomForces
from .forces import YaxisSin as YaxisSin
from .grasp_criteria import GraspTimeCriterion as GraspTimeCriterion
from .grasp_criteria import (
    InstantContactingLinkCriterion as InstantContactingLinkCriterion,
)
from .grasp_criteria import InstantForceCriterion as InstantForceCriterion
from .grasp_criteria import InstantObjectCOGCriterion as InstantObjectCOGCriterion
from .grasp_events import EventGrasp as EventGrasp
from .grasp_events import EventStopExternalForce as EventStopExternalForce
from .grasp_simulation import simulate_grasp as simulate_grasp
from .path_trace import path_trace as path_trace
from .run_criteria import FinalPositionCriterion as FinalPositionCriterion
from .run_criteria import ForceCriterion as ForceCriterion
from .run_criteria import TimeCriterion as TimeCriterion
from .sensors import SensorReading as SensorReading
from .simulation_reward import SimulationReward as SimulationReward
from .smooth_events import SmoothResult as SmoothResult
from .smooth_events import smooth_events as smooth_events
from .trace import Trace as Trace
from .trace import TraceContact as TraceContact
from .trace_arrays import TraceArrays as TraceArrays
from .trace_arrays import trace_arrays as trace_arrays

__getattr__ = renamed(__name__, {"Contact": "TraceContact"})

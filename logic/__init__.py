"""Predicates, states, queries and criteria: each exact, and relaxed for the solver.

Rooms, the lowest first: errors, margins, smooth_extrema, geometry, exact, relaxed,
formulas, predicates, parameter_fit, queries, states, planning, bddl, motion, rostok,
lgp.
"""

from typing import TYPE_CHECKING

from posewise.robots.annotations.object_states import states_at as states_at
from posewise.robots.errors import unknown_name as _unknown_name

from . import bddl as bddl
from . import motion as motion
from . import rostok as rostok
from .errors import PredicateError as PredicateError
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
from .motion.activity import solve_activity as solve_activity
from .motion.planner import plan_motion as plan_motion
from .parameter_fit import ParameterFit as ParameterFit
from .parameter_fit import fit as fit
from .planning.branch_placement import BranchPlacement as BranchPlacement
from .planning.branch_placement import solve_branches as solve_branches
from .planning.dnf_search import Branch as Branch
from .planning.dnf_search import branches as branches
from .predicates.attachment import Attached as Attached
from .predicates.contact import InContactWith as InContactWith
from .predicates.containment import InsideOf as InsideOf
from .predicates.floors import OnFloor as OnFloor
from .predicates.grasps import InHandOfAgent as InHandOfAgent
from .predicates.joint_openness import Open as Open
from .predicates.next_to import NextTo as NextTo
from .predicates.reach import InReachOfAgent as InReachOfAgent
from .predicates.rooms import InRoom as InRoom
from .predicates.rooms import InSameRoomAsAgent as InSameRoomAsAgent
from .predicates.sight import InFoVOfAgent as InFoVOfAgent
from .predicates.stable import Stable as Stable
from .predicates.support import OnTopOf as OnTopOf
from .predicates.support import Under as Under
from .predicates.upright import Upright as Upright
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
from .queries.stable import stable as stable
from .queries.supporting import Supporting as Supporting
from .queries.supporting import supporting as supporting
from .queries.visible import Visible as Visible
from .queries.visible import visible as visible
from .states.dirt_predicates import Covered as Covered
from .states.dirt_predicates import Dusty as Dusty
from .states.dirt_predicates import Stained as Stained
from .states.existence_predicates import Broken as Broken
from .states.existence_predicates import Real as Real
from .states.existence_predicates import SourceOf as SourceOf
from .states.resampling import resample as resample
from .states.rollout import rollout as rollout
from .states.thermal_predicates import Burnt as Burnt
from .states.thermal_predicates import Cooked as Cooked
from .states.thermal_predicates import Frozen as Frozen
from .states.thermal_predicates import Heated as Heated
from .states.thermal_predicates import OnFire as OnFire
from .states.toggle_slice_predicates import Sliced as Sliced
from .states.toggle_slice_predicates import ToggledOn as ToggledOn
from .states.water_predicates import Contains as Contains
from .states.water_predicates import Filled as Filled
from .states.water_predicates import Saturated as Saturated
from .states.water_predicates import Soaked as Soaked

# Type checkers know the names, and must not take all others for some.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        public = [known for known in globals() if not known.startswith("_")]
        raise AttributeError(_unknown_name(f"name in {__name__}", name, public))

"""posewise: differentiable features, objectives and predicates for robots, on JAX."""

from typing import TYPE_CHECKING

from .lazy_names import lazy_names

if TYPE_CHECKING:
    from . import collision as collision
    from . import compilation as compilation
    from . import features as features
    from . import logic as logic
    from . import objectives as objectives
    from . import presets as presets
    from . import robots as robots
    from . import solvers as solvers
    from .caching import cache_programs as cache_programs
    from .features import FS as FS
    from .features import Feature as Feature
    from .features import FeatureError as FeatureError
    from .features import PairDistances as PairDistances
    from .features import Pose as Pose
    from .features import distances as distances
    from .objectives import KOMO as KOMO
    from .objectives import NLP as NLP
    from .objectives import OT as OT
    from .objectives import ContactForce as ContactForce
    from .objectives import MoveItProblem as MoveItProblem
    from .objectives import Objective as Objective
    from .objectives import ObjectiveError as ObjectiveError
    from .objectives import Placement as Placement
    from .objectives import Planner as Planner
    from .objectives import PlanningTask as PlanningTask
    from .objectives import Sensitivity as Sensitivity
    from .objectives import Skeleton as Skeleton
    from .objectives import Solution as Solution
    from .objectives import SolutionBatch as SolutionBatch
    from .objectives import Trajectory as Trajectory
    from .objectives import load_moveit as load_moveit
    from .objectives import map_solves as map_solves
    from .objectives import prepare as prepare
    from .objectives import solve_placement as solve_placement
    from .robots import Agent as Agent
    from .robots import Box as Box
    from .robots import Camera as Camera
    from .robots import Capsule as Capsule
    from .robots import Config as Config
    from .robots import ConfigError as ConfigError
    from .robots import Convex as Convex
    from .robots import Cylinder as Cylinder
    from .robots import Ellipsoid as Ellipsoid
    from .robots import FitError as FitError
    from .robots import Kinematics as Kinematics
    from .robots import LoadError as LoadError
    from .robots import Marker as Marker
    from .robots import Mesh as Mesh
    from .robots import Motor as Motor
    from .robots import ObjectState as ObjectState
    from .robots import Particles as Particles
    from .robots import Plane as Plane
    from .robots import PointCloud as PointCloud
    from .robots import PosewiseError as PosewiseError
    from .robots import ProblemWarning as ProblemWarning
    from .robots import Region as Region
    from .robots import Room as Room
    from .robots import RoomMap as RoomMap
    from .robots import Simulator as Simulator
    from .robots import Sphere as Sphere
    from .robots import Stream as Stream
    from .robots import Twin as Twin
    from .robots import collision_model_error as collision_model_error
    from .robots import load as load
    from .solvers import Status as Status
else:
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            ".": (
                "collision compilation features logic objectives presets robots solvers"
            ),
            ".caching": "cache_programs",
            ".features": "FS Feature FeatureError PairDistances Pose distances",
            ".objectives": (
                "KOMO NLP OT ContactForce MoveItProblem Objective ObjectiveError "
                "Placement Planner PlanningTask Sensitivity Skeleton Solution "
                "SolutionBatch Trajectory load_moveit map_solves prepare "
                "solve_placement"
            ),
            ".robots": (
                "Agent Box Camera Capsule Config ConfigError Convex Cylinder "
                "Ellipsoid FitError Kinematics LoadError Marker Mesh Motor "
                "ObjectState Particles Plane PointCloud PosewiseError ProblemWarning "
                "Region Room RoomMap Simulator Sphere Stream Twin "
                "collision_model_error load"
            ),
            ".solvers": "Status",
        },
    )

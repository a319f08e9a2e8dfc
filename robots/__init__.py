"""The world: frames, joints, shapes, loaders and kinematics.

Rooms, the lowest first: errors, typing, validation, protocols, array_files, json_files,
named_members, dependency_warnings, mujoco_extra, kinematics, geometry, world,
annotations, contact, masses, loaders, facets, models, visual, config, contact_forces,
simulation.
"""

from typing import TYPE_CHECKING

from posewise.lazy_names import lazy_names

if TYPE_CHECKING:
    from .annotations.agents import Agent as Agent
    from .annotations.agents import Camera as Camera
    from .annotations.object_states import ObjectState as ObjectState
    from .annotations.object_states import Particles as Particles
    from .annotations.object_states import Stream as Stream
    from .annotations.regions import Region as Region
    from .annotations.rooms import Room as Room
    from .annotations.rooms import RoomMap as RoomMap
    from .config import Config as Config
    from .config import load as load
    from .errors import ConfigError as ConfigError
    from .errors import LoadError as LoadError
    from .errors import PosewiseError as PosewiseError
    from .errors import ProblemWarning as ProblemWarning
    from .geometry.fitting.error import FitError as FitError
    from .geometry.fitting.error import collision_model_error as collision_model_error
    from .geometry.shapes import Box as Box
    from .geometry.shapes import Capsule as Capsule
    from .geometry.shapes import Convex as Convex
    from .geometry.shapes import Cylinder as Cylinder
    from .geometry.shapes import Ellipsoid as Ellipsoid
    from .geometry.shapes import Marker as Marker
    from .geometry.shapes import Mesh as Mesh
    from .geometry.shapes import Plane as Plane
    from .geometry.shapes import PointCloud as PointCloud
    from .geometry.shapes import Sphere as Sphere
    from .kinematics.forward import Kinematics as Kinematics
    from .simulation.motion import SimulatedContact as SimulatedContact
    from .simulation.motion import SimulatedTrajectory as SimulatedTrajectory
    from .simulation.motion import SimulationError as SimulationError
    from .simulation.run import Motor as Motor
    from .simulation.run import TwinRun as TwinRun
    from .simulation.simulator import Simulator as Simulator
    from .simulation.simulator import SimulatorState as SimulatorState
    from .simulation.twin import Twin as Twin
    from .world.frame import Frame as Frame
    from .world.frame import Geometry as Geometry
    from .world.frame import Joint as Joint
    from .world.frame import Model as Model
else:
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            ".annotations.agents": "Agent Camera",
            ".annotations.object_states": "ObjectState Particles Stream",
            ".annotations.regions": "Region",
            ".annotations.rooms": "Room RoomMap",
            ".config": "Config load",
            ".errors": "ConfigError LoadError PosewiseError ProblemWarning",
            ".geometry.fitting.error": "FitError collision_model_error",
            ".geometry.shapes": (
                "Box Capsule Convex Cylinder Ellipsoid Marker Mesh Plane PointCloud "
                "Sphere"
            ),
            ".kinematics.forward": "Kinematics",
            ".simulation.motion": (
                "SimulatedContact SimulatedTrajectory SimulationError"
            ),
            ".simulation.run": "Motor TwinRun",
            ".simulation.simulator": "Simulator SimulatorState",
            ".simulation.twin": "Twin",
            ".world.frame": "Frame Geometry Joint Model",
        },
    )

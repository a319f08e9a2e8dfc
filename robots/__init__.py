"""The world: frames, joints, shapes, loaders and kinematics."""

from .agents import Agent as Agent
from .agents import Camera as Camera
from .config import Config as Config
from .config import load as load
from .errors import ConfigError as ConfigError
from .errors import LoadError as LoadError
from .errors import PosewiseError as PosewiseError
from .frame import Frame as Frame
from .frame import Geometry as Geometry
from .frame import Joint as Joint
from .frame import Model as Model
from .kinematics import Kinematics as Kinematics
from .object_states import ObjectState as ObjectState
from .object_states import Particles as Particles
from .rooms import Room as Room
from .rooms import RoomMap as RoomMap
from .shapes import Box as Box
from .shapes import Capsule as Capsule
from .shapes import Convex as Convex
from .shapes import Cylinder as Cylinder
from .shapes import Ellipsoid as Ellipsoid
from .shapes import Marker as Marker
from .shapes import Mesh as Mesh
from .shapes import Plane as Plane
from .shapes import PointCloud as PointCloud
from .shapes import Sphere as Sphere

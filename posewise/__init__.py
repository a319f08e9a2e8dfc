"""posewise: differentiable features, objectives and predicates for robots, on JAX."""

from .features import FS as FS
from .features import Feature as Feature
from .features import FeatureError as FeatureError
from .features import Pose as Pose
from .objectives import KOMO as KOMO
from .objectives import OT as OT
from .objectives import Objective as Objective
from .objectives import ObjectiveError as ObjectiveError
from .objectives import Solution as Solution
from .robots import Box as Box
from .robots import Capsule as Capsule
from .robots import Config as Config
from .robots import ConfigError as ConfigError
from .robots import Convex as Convex
from .robots import Cylinder as Cylinder
from .robots import Ellipsoid as Ellipsoid
from .robots import Kinematics as Kinematics
from .robots import LoadError as LoadError
from .robots import Marker as Marker
from .robots import Mesh as Mesh
from .robots import Plane as Plane
from .robots import PointCloud as PointCloud
from .robots import PosewiseError as PosewiseError
from .robots import Sphere as Sphere
from .robots import load as load
from .solvers import Status as Status

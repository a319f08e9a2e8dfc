"""Public type aliases, for annotations of code that uses posewise."""

from .features.typing import Coordinates as Coordinates
from .features.typing import Order as Order
from .features.typing import PoseFunction as PoseFunction
from .features.typing import ScaleLike as ScaleLike
from .features.typing import SymbolLike as SymbolLike
from .features.typing import TargetLike as TargetLike
from .robots.geometry.shapes import Shape as Shape
from .robots.typing import RGBA as RGBA
from .robots.typing import Array as Array
from .robots.typing import Axis as Axis
from .robots.typing import FrameName as FrameName
from .robots.typing import Frames as Frames
from .robots.typing import JointTypeName as JointTypeName
from .robots.typing import MatrixLike as MatrixLike
from .robots.typing import ModelName as ModelName
from .robots.typing import PoseLike as PoseLike
from .robots.typing import RegionKind as RegionKind
from .robots.typing import StrPath as StrPath
from .robots.typing import VectorLike as VectorLike
from .solvers.options import SolverOptions as SolverOptions

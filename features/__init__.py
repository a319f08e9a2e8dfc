"""φ: differentiable features of frame poses and joint values."""

from .feature import Feature as Feature
from .feature import FeatureError as FeatureError
from .symbol import Pose as Pose
from .symbol import Symbol as Symbol
from .table import FS as FS

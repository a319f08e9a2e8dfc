"""Differentiable features φ of frame poses and joint values."""

from .errors import FeatureError as FeatureError
from .feature import Feature as Feature
from .pair_distances import PairDistances as PairDistances
from .pair_distances import distances as distances
from .symbol import Pose as Pose
from .symbol import Symbol as Symbol
from .table import FS as FS

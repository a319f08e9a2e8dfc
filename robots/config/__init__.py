"""The world as users edit it: `Config`, and `load`, which makes one of a model."""

from .config import Config as Config
from .config import load as load

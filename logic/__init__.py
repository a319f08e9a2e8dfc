"""Predicates, states, queries and criteria: each exact, and relaxed for the solver."""

from . import handling_rows as handling_rows
from . import heating as heating
from . import thermal_rows as thermal_rows
from .cleanliness import Dusty as Dusty
from .cleanliness import Soaked as Soaked
from .cleanliness import Stained as Stained
from .predicate import Predicate as Predicate
from .rollout import at as at
from .rollout import rollout as rollout
from .switched import Sliced as Sliced
from .switched import ToggledOn as ToggledOn
from .temperature import dwell_steps as dwell_steps
from .thermal import Burnt as Burnt
from .thermal import Cooked as Cooked
from .thermal import Frozen as Frozen

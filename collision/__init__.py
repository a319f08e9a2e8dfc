"""Distances between shapes; the lowest floor, which knows no robots."""

from .broad_phase import bound as bound
from .broad_phase import contact_within as contact_within
from .contact import Contact as Contact
from .contact import contact as contact
from .cores import Body as Body
from .cores import Box as Box
from .cores import Core as Core
from .cores import Curved as Curved
from .cores import HalfSpace as HalfSpace
from .cores import Hull as Hull
from .cores import Segment as Segment
from .cores import as_curved as as_curved
from .grid import Grid as Grid
from .grid import grid_distance as grid_distance
from .points import point_surface as point_surface
from .smooth import excess as excess
from .smooth import smooth_contact as smooth_contact

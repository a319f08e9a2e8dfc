"""Signed distances of convex bodies; this package knows no robots."""

from .broad_phase import distance_lower_bound as distance_lower_bound
from .contact import Contact as Contact
from .contact import contact as contact
from .contact import contact_within as contact_within
from .cores import Body as Body
from .cores import Box as Box
from .cores import BoxPlusEllipsoid as BoxPlusEllipsoid
from .cores import Core as Core
from .cores import HalfSpace as HalfSpace
from .cores import Hull as Hull
from .cores import Segment as Segment
from .cores import box_as_hull as box_as_hull
from .cores import pad_hull as pad_hull
from .grid import Grid as Grid
from .grid import grid_distance as grid_distance
from .points import closest_point_on_box as closest_point_on_box
from .points import closest_point_on_cylinder as closest_point_on_cylinder
from .points import point_distance_and_normal as point_distance_and_normal
from .smooth import smooth_contact as smooth_contact
from .smooth import smoothing_excess as smoothing_excess

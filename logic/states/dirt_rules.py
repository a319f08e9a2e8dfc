"""Rules for particles on objects: how many cover one, and what a tool removes.

iGibson 2.0 (Li et al., 2021), `object_states/dirty.py` and `cleaning_tool.py`.
"""

import numpy as np
from jaxtyping import Bool, Float

ABILITY_BY_SUBSTANCE = {"dust": "dustyable", "stain": "stainable"}
"""The ability that an object needs to have particles of a substance."""
VISUAL_SUBSTANCES = frozenset(
    "adhesive_material alga body_waste coating coffee_grounds coloring_material"
    " concave_shape cooked__coffee_grounds covering_material debris depression dirt"
    " dregs dust fecal_matter ferric_oxide grease grounds house_paint incision"
    " insectifuge lint microorganism mildew mold mud oil oxide paint particulate"
    " pesticide plaster repellent rubbish rust sand sediment spray_paint stain stucco"
    " sugar_coffee_scrub tarnish wax_remnant wrinkle".split()
)
"""Substances whose particles stick to surfaces; those of others lie on them."""
MIN_VISUAL_PARTICLES = 5
"""Least number of particles that stick to a covered object, as in OmniGibson; with
fewer of them it is not covered."""
MIN_PHYSICAL_PARTICLES = 20
"""Least number of particles that lie on a covered object, as in OmniGibson; with fewer
of them it is not covered."""
DRY_SUBSTANCES = frozenset("dust dirt debris bunchgrass crumb water".split())
"""Substances that a dry tool removes; the others take one soaked in water."""
PERMANENT_SUBSTANCES = frozenset("rust incision tarnish wrinkle".split())
"""Substances that no tool removes, as in OmniGibson."""
DIRTY_SHARE = 0.5
"""Share of its particles above which an object is dirty; higher is clean sooner."""
DIRTY_FLOOR_SHARE = 0.75
"""Share of its particles above which a floor is dirty; higher is clean sooner."""


def wipe_step(
    active: Bool[np.ndarray, " n"],
    particles: Float[np.ndarray, "n 3"],
    lower: Float[np.ndarray, "3"],
    upper: Float[np.ndarray, "3"],
    working: bool,
) -> Bool[np.ndarray, " n"]:
    """Return which particles remain after a step.

    Args:
        active: which particles remained before.
        particles: their positions in the world [m].
        lower: lower corner of the tool's box along the world's axes [m].
        upper: upper corner of that box.
        working: whether the tool touches the object and, for stains, is soaked.
    """
    inside = ((lower <= particles) & (particles <= upper)).all(-1)
    return active & ~(inside & working)


def dirt_level(active: Bool[np.ndarray, "*T n"]) -> Float[np.ndarray, "*T"]:
    """Return the share of particles that remain; 0 where there never were any."""
    n = np.shape(active)[-1]
    return np.asarray(np.sum(active, -1) / max(n, 1))


def is_dirty(
    active: Bool[np.ndarray, "*T n"], threshold: float = DIRTY_SHARE
) -> Bool[np.ndarray, "*T"]:
    """Return whether more than a share of the particles remains."""
    n = np.shape(active)[-1]
    return np.asarray(np.sum(active, -1) > n * threshold)

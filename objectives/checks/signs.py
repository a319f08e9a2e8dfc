"""Targets of the wrong sign: bounds that let bodies overlap, or robots lose balance.

`FS.distance` and `FS.supportPolygon` are negative where all is well, so that a gap or a
reserve has a negative target. A positive one by mistake states nearly the opposite, and
its solution looks feasible.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from posewise.features.feature import Feature
from posewise.features.table import FS

from ..terms.objective import OT

MAX_OVERLAP = 0.005
"""Overlap that may be meant [m]: models of bodies are seldom more exact."""
CONSEQUENCES = {
    FS.distance.symbol: "{0!r} and {1!r} may overlap by {size:.4g} mm. FS.distance is"
    " minus the distance: a gap of {size:.4g} mm has the target -{metres:.4g}",
    FS.supportPolygon.symbol: "the centre of mass may be {size:.4g} mm outside of the"
    " support polygon. A reserve of {size:.4g} mm has the target -{metres:.4g}",
}


def doubtful_signs(bounds: Iterable[tuple[str, Feature, OT]]) -> Iterator[str]:
    """Yield a sentence for each upper bound whose sign is very likely wrong.

    Args:
        bounds: features with their types, and the names that sentences begin with.
    """
    for name, feature, kind in bounds:
        text = CONSEQUENCES.get(feature.symbol)
        if text is None or kind is not OT.ineq or feature.order:
            continue
        scale = np.ones(1) if feature.scale is None else np.asarray(feature.scale)
        target = 0.0 if feature.target is None else float(np.max(feature.target))
        if target > MAX_OVERLAP and (scale > 0).all():
            sizes = dict(size=1e3 * target, metres=target)
            outcome = text.format(*feature.frames, **sizes)
            yield f"{name}: the target is +{target:.4g}, so that {outcome}."

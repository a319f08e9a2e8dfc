"""Parts of a motion's plan, and the seconds that each takes, by the profiler.

Functions are slower while they are watched, those that call many others most, so that
shares are more exact than seconds.
"""

import cProfile
import pstats
import time
from collections.abc import Callable
from types import FunctionType

from posewise.logic.motion.goal_poses import find_goal_poses
from posewise.logic.motion.grasps import find_grasps
from posewise.logic.motion.keyframes import solve_keyframes
from posewise.logic.motion.segment import solve_segment
from posewise.objectives.problem.spec import certify_path

PARTS = {
    "grasps": find_grasps,
    "places": find_goal_poses,
    "keyframes": solve_keyframes,
    "paths": solve_segment,
    "certificates": certify_path,
}
"""The function of each part of a plan; none of them calls another but `paths`, which
certifies."""


def seconds_by_part(plan: Callable[[], object]) -> dict[str, float]:
    """Return the seconds of the processor that a call spends on each part of a plan.

    Those of certificates are not among those of paths; `rest` is all else.
    """
    profile = cProfile.Profile(time.process_time)
    started = time.process_time()
    profile.runcall(plan)
    total = time.process_time() - started
    seconds = {name: _seconds(profile, part) for name, part in PARTS.items()}
    seconds["paths"] -= seconds["certificates"]
    return {**seconds, "rest": total - sum(seconds.values())}


def _seconds(profile: cProfile.Profile, function: FunctionType) -> float:
    """Return the seconds spent in a function and all that it called."""
    code = function.__code__
    key = code.co_filename, code.co_firstlineno, code.co_name
    timings = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    return float(timings[key][3]) if key in timings else 0.0

"""Worlds in which the robot alone moves, and whose programs are shared.

Programs depend on the order of the frames, on the link that each is attached to, and on
the number of collision pairs of each kind. Here the frames that hands hold come last,
in as many places as held objects need, and every pair has a place that could collide in
another step. Ten objects are carried by one program.
"""

from collections.abc import Collection
from itertools import combinations

from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from .course import COURSE_FRAME, HandCourse, add_course_frame
from .robot import Robot

SPARE = "spare place of a held frame"
"""Beginning of the names of the frames that fill the places of held frames."""
SPARE_POSE = [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]
"""Pose of these frames in their parents."""


def planning_world(
    C: Config,
    robot: Robot,
    movable: Collection[FrameName],
    places: int,
    course: HandCourse | None = None,
) -> Config:
    """Return a copy of a world in which only the joints of a robot move.

    Args:
        C: the world; what hands hold is attached to their links.
        robot: the robot.
        movable: objects that are held in any step.
        places: number of frames of the largest of these objects.
        course: that a hand follows.
    """
    X = C.copy()
    X.joints.select(list(robot.joints))
    # What lies in a drawer may be a part of its subtree.
    parts = (name for obj in movable for name in X.subtree(obj))
    movables = list(dict.fromkeys(parts))
    last: list[str] = []
    for hand in robot.hands:
        below = set(X.subtree(hand.link))
        attached = [name for name in movables if name in below]
        for k in range(places):
            parent = hand.link if k >= len(attached) else "world"
            name = f"{SPARE} {k} {hand.link}"
            X.add_frame(name, parent, pose=SPARE_POSE)
            attached += [name] if parent == hand.link else []
        last += attached
    link = robot.hands[0].link if course is None else course.link
    add_course_frame(X, link, course)
    last.append(COURSE_FRAME)
    links = [name for name in robot.frames if name not in last]
    others = [n for n in X.frame_names if n not in {*last, *links}]
    X.reorder([*links, *others, *last])
    _reserve_pairs(X, links, movables)
    return X


def _reserve_pairs(
    X: Config, links: Collection[str], movables: Collection[str]
) -> None:
    """Give all pairs a place that can collide in any step."""
    robot, loose = set(map(X.index, links)), set(map(X.index, movables))
    solid = [
        i
        for i, frame in enumerate(X.frames)
        if frame.contact and any(g.collision for g in frame.geometries)
    ]
    possible = set(map(tuple, X.pairs.indices().tolist()))
    for a, b in combinations(solid, 2):
        moves = a in robot or b in robot or a in loose or b in loose
        if moves and not (a in robot and b in robot):
            possible.add((a, b))
    X.pairs.reserve(possible)

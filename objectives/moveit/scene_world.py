"""Worlds of MoveIt's planning scenes: objects, colours, and what may touch."""

from collections.abc import Mapping

from posewise.robots.config import Config
from posewise.robots.errors import first_few
from posewise.robots.kinematics.transforms import pose_multiply

from .scene import PlanningScene


def write_scene(scene: PlanningScene, C: Config) -> None:
    """Add the objects of a scene to the world of its robot, and what may touch."""
    links = set(C.frame_names)
    names: dict[str, list[str]] = {link: [link] for link in links}
    for objects in (scene.objects, scene.carried):
        for id, obj in objects.items():
            name = _free_name(C, id)
            if name != id:
                scene.skipped.append(
                    f"the name of object {id!r}, which is {name!r} now"
                )
            names.setdefault(id, []).append(name)
            pose = obj.pose
            if obj.link is not None:
                pose = pose_multiply(C.pose(obj.link), pose)
            parts = [(s.shape, pose_multiply(s.pose, s.offset)) for s in obj.shapes]
            C.add_object(name, parts, pose=pose)
            for sub, offset in obj.subframes.items():
                C.add_frame(f"{name}/{sub}", name, pose=offset)
            if obj.link is not None:
                C.attach(obj.link, name)
            if id in scene.colors:
                C.set_color(name, scene.colors[id])
    for id, obj in scene.carried.items():
        # What the hand and its fingers may touch ends when it is released; what the
        # messages add to that is for good.
        touching = {obj.link, *obj.touch_links}
        touching |= {n for n, o in scene.carried.items() if o.link == obj.link} - {id}
        others = [name for t in touching for name in names.get(t or "", [])]
        C.ignore_collisions(names[id][-1], [o for o in others if o != names[id][-1]])
    _apply_matrix(scene, C, names)


def _free_name(C: Config, id: str) -> str:
    name = id
    while name in C.frame_names or not name or name == "world":
        name = f"{name}_object"
    return name


def _apply_matrix(
    scene: PlanningScene, C: Config, names: Mapping[str, list[str]]
) -> None:
    matrix = scene.matrix
    ids = {name: id for id, listed in names.items() for name in listed}
    solid = [f.name for f in C.frames if f.contact and f.geometries]
    for k, a in enumerate(solid):
        allowed, denied = [], []
        for b in solid[k + 1 :]:
            pair = (ids.get(a, a), ids.get(b, b))
            if matrix.allows(*pair):
                allowed.append(b)
            elif frozenset(pair) in matrix.entries and not _may_touch(scene, *pair):
                denied.append(b)
        C.ignore_collisions(a, allowed)
        # An entry takes the place of what the robot's files allow.
        C.restore_collisions(a, denied)
    unknown = sorted(matrix.names - {*names, ""})
    if unknown and len(unknown) < len(matrix.names):
        scene.skipped.append(
            f"allowed collisions of what the world lacks: {first_few(unknown)}"
        )


def _may_touch(scene: PlanningScene, a: str, b: str) -> bool:
    """Return whether an object that is carried may touch another body in any case."""
    for name, other in ((a, b), (b, a)):
        obj = scene.carried.get(name)
        if obj is not None and other in {obj.link, *obj.touch_links}:
            return True
    carriers = [scene.carried[n].link for n in (a, b) if n in scene.carried]
    return len(carriers) == 2 and carriers[0] == carriers[1]

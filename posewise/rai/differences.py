"""Differences of worlds that a `KOMO` with rai's names does not take over."""

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

import posewise as pw

MAX_SHOWN_FRAMES = 4
"""Number of frames that a difference names (count); more make the sentence longer."""

_PROPERTIES = {
    "geometries": "shape",
    "contact": "contact flag",
    "mass": "mass",
    "com": "centre of mass",
    "inertia": "inertia",
}
"""Fields of a frame beside its place in the tree, as a sentence names them."""


def unmoved_frames(C: pw.Config) -> set[str]:
    """Return the names of the frames that no joint moves."""
    num_dofs = C.tree.model.kinematics.dof_mask.sum(1)
    return {name for name in C.frame_names if not num_dofs[C.index(name)]}


def world_differences(old: pw.Config, new: pw.Config, free: set[str]) -> list[str]:
    """Return the differences of two worlds, each as a phrase with the frames' names.

    Args:
        old: a world.
        new: the same world, changed.
        free: frames whose pose in the parent does not count.
    """
    by_kind: dict[str, list[str]] = {}
    for name in dict.fromkeys((*old.frame_names, *new.frame_names)):
        if name not in new.frame_names:
            by_kind.setdefault("removed frames", []).append(name)
        elif name not in old.frame_names:
            by_kind.setdefault("added frames", []).append(name)
        else:
            for kind in _frame_differences(old, new, name, name in free):
                by_kind.setdefault(kind, []).append(name)
    return [f"{kind} {_listed(names)}" for kind, names in by_kind.items()]


def _frame_differences(
    old: pw.Config, new: pw.Config, name: str, is_free: bool
) -> list[str]:
    a, b = old.frame(name), new.frame(name)
    kinds = [
        f"the {text} of"
        for field, text in _PROPERTIES.items()
        if not _is_same(getattr(a, field), getattr(b, field))
    ]
    if _parent_name(old, name) != _parent_name(new, name):
        kinds.append("the parent of")
    if not _is_same(a.joint, b.joint):
        kinds.append("the joint of")
    elif not is_free and not np.allclose(a.origin, b.origin, rtol=0, atol=1e-9):
        kinds.append("the relative pose of")
    return kinds


def _parent_name(C: pw.Config, name: str) -> str | None:
    parent = C.frame(name).parent
    return None if parent is None else C.frames[parent].name


def _is_same(a: Any, b: Any) -> bool:
    """Return whether values of frames are equal, arrays by their numbers."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_is_same, a, b))
    if is_dataclass(a):
        # Fields that are not shown are caches.
        names = [f.name for f in fields(a) if f.repr]
        return all(_is_same(getattr(a, n), getattr(b, n)) for n in names)
    return bool(a == b)


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:MAX_SHOWN_FRAMES]))
    more = len(names) - MAX_SHOWN_FRAMES
    return f"{shown} and {more} more" if more > 0 else shown

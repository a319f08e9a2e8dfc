"""Equality constraints of an MJCF model that couple joints linearly.

They are constraints between joints and between fixed tendons, whose lengths are sums of
joint values. Each is an equation Σ cᵢ qᵢ = b. Joints that already follow others are
replaced by what they follow; then an equation of two joints makes one a mimic of the
other, and one of a single joint locks it. All others are left out, and described.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...world.frame import Joint

Name = Callable[[str, int], str]
"""Returns the name of an object, given its kind in MuJoCo and its number."""


def couple_joints(
    mujoco: Any, model: Any, joints: Mapping[int, Joint], name: Name
) -> tuple[dict[int, Joint], list[str]]:
    """Return joints with the mimics of a model, and descriptions of what is left out.

    Args:
        mujoco: the module.
        model: the compiled model.
        joints: by MuJoCo's number.
        name: of objects.
    """
    coupled, left_out = dict(joints), []
    for e in range(model.neq):
        if not model.eq_active0[e]:
            continue
        equation = _equation(mujoco, model, e)
        if equation is None or not _apply(coupled, *equation):
            left_out.append(_describe(mujoco, model, e, name))
    return coupled, left_out


def _equation(mujoco: Any, model: Any, e: int) -> tuple[dict[int, float], float] | None:
    """Return the coefficients of joints and the constant; None if it is not linear.

    MuJoCo's polynomial is in deviations from qpos0 (XML reference, equality/joint):
    y - y0 = a0 + a1 (x - x0), of joint values or of tendon lengths.
    """
    a0, a1, *higher = (float(v) for v in model.eq_data[e][:5])
    first, second = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
    if model.eq_type[e] == mujoco.mjtEq.mjEQ_JOINT:
        y: dict[int, float] | None = {first: 1.0}
        x: dict[int, float] | None = {second: 1.0} if second >= 0 else {}
    elif model.eq_type[e] == mujoco.mjtEq.mjEQ_TENDON:
        y = _fixed_tendon(mujoco, model, first)
        x = _fixed_tendon(mujoco, model, second) if second >= 0 else {}
    else:
        return None
    if y is None or x is None or x and any(higher):
        return None
    total = {j: y.get(j, 0.0) - a1 * x.get(j, 0.0) for j in {**y, **x}}
    start = sum(c * float(model.qpos0[model.jnt_qposadr[j]]) for j, c in total.items())
    return total, start + a0


def _fixed_tendon(mujoco: Any, model: Any, tendon: int) -> dict[int, float] | None:
    """Return the coefficient of each joint of a fixed tendon; None for another one."""
    first = int(model.tendon_adr[tendon])
    # Backwards, because the first joint of an equation becomes the follower.
    parts = range(first + int(model.tendon_num[tendon]) - 1, first - 1, -1)
    if any(model.wrap_type[k] != mujoco.mjtWrap.mjWRAP_JOINT for k in parts):
        return None
    total: dict[int, float] = {}
    for k in parts:
        joint = int(model.wrap_objid[k])
        total[joint] = total.get(joint, 0.0) + float(model.wrap_prm[k])
    return total


def _apply(joints: dict[int, Joint], total: dict[int, float], constant: float) -> bool:
    """Make a joint follow another one, or lock it; False if neither is possible."""
    by_name = {joint.name: j for j, joint in joints.items()}
    reduced: dict[int, float] = {}
    for j, c in total.items():
        while (joint := joints[j]).mimic is not None:
            constant -= c * joint.offset
            j, c = by_name[joint.mimic], c * joint.multiplier
        if not joint.active and joint.q is not None:
            constant -= c * float(joint.q[0])
        else:
            reduced[j] = reduced.get(j, 0.0) + c
    terms = {j: c for j, c in reduced.items() if abs(c) > 1e-12}
    if not terms:
        return abs(constant) < 1e-9
    (follower, c), *others = terms.items()
    joint = joints[follower]
    if not others:
        joint = replace(joint, active=False, q=np.array([constant / c]))
    elif len(others) == 1:
        leader, factor = others[0]
        joint = replace(
            joint,
            mimic=joints[leader].name,
            multiplier=-factor / c,
            offset=constant / c,
        )
    else:
        return False
    joints[follower] = joint
    return True


def _describe(mujoco: Any, model: Any, e: int, name: Name) -> str:
    """Return what a constraint demands, so that an objective can be written by hand."""
    kinds = mujoco.mjtEq
    label = f"the constraint {name('EQUALITY', e)!r}"
    kind, first, second = (
        int(x[e]) for x in (model.eq_type, model.eq_obj1id, model.eq_obj2id)
    )
    if kind in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD):
        verb = "connects a point of" if kind == kinds.mjEQ_CONNECT else "welds"
        sort = "SITE" if model.eq_objtype[e] == mujoco.mjtObj.mjOBJ_SITE else "BODY"
        ends = " and ".join(
            f"{sort.lower()} {name(sort, i)!r}" for i in (first, second)
        )
        return f"{label}, which {verb} {ends}"
    polynomial = [round(float(v), 9) for v in model.eq_data[e][:5]]
    if kind == kinds.mjEQ_JOINT:
        return (
            f"{label} of the joints {name('JOINT', first)!r} and"
            f" {name('JOINT', second)!r} with polycoef {polynomial}"
        )
    if kind == kinds.mjEQ_TENDON:
        tendons = [i for i in (first, second) if i >= 0]
        lengths = " and ".join(_tendon_text(mujoco, model, i, name) for i in tendons)
        return f"{label} of {lengths} with polycoef {polynomial}"
    return label


def _tendon_text(mujoco: Any, model: Any, tendon: int, name: Name) -> str:
    total = _fixed_tendon(mujoco, model, tendon)
    text = f"tendon {name('TENDON', tendon)!r}"
    if total is None:
        start = int(model.tendon_adr[tendon])
        parts = range(start, start + int(model.tendon_num[tendon]))
        sites = [
            int(model.wrap_objid[k])
            for k in parts
            if model.wrap_type[k] == mujoco.mjtWrap.mjWRAP_SITE
        ]
        bodies = dict.fromkeys(name("BODY", int(model.site_bodyid[i])) for i in sites)
        return f"{text} through the bodies {', '.join(map(repr, bodies))}"
    terms = (f"{c:g} {name('JOINT', j)}" for j, c in reversed(total.items()))
    return f"{text} ({' + '.join(terms)})"

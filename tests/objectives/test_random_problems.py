"""Random valid problems: no exception that is not our own, and no NaN in results.

Features of all symbols, orders, scales and targets in worlds of all kinds of joints.
"""

import warnings
from collections import Counter
from functools import cache

import numpy as np
import pytest
from helpers.worlds import random_tree

import posewise as pw
from posewise import FS, OT

SYMBOLS = [symbol for name, symbol in FS.__members__.items() if symbol.name == name]
SEED = 2026
LONG = 2000
"""Number of problems of the long test."""


def single(**options) -> pw.Config:
    """A world of one joint."""
    C = pw.Config()
    C.add_frame("base", shape=pw.Box([0.2, 0.2, 0.2]), mass=1.0)
    C.add_frame("link", "base", shape=pw.Sphere(0.1), mass=1.0, **options)
    C.add_frame("tip", "link", position=[1, 0, 0], shape=pw.Cylinder(0.2, 0.1))
    return C


def many_joints() -> pw.Config:
    """A chain of 60 joints; some have limits, some follow others, some are locked."""
    C, parent = pw.Config(), "world"
    for k in range(60):
        options = {"limits": [[-1.0], [1.0]]} if k % 3 == 0 else {}
        if k % 10 == 9:
            options = {"mimic": "j0", "multiplier": -0.5}
        shape = pw.Capsule(0.05, 0.02) if k % 5 == 0 else None
        joint = ["hingeX", "hingeY", "transZ"][k % 3]
        place = [0, 0, 0.1]
        C.add_frame(
            f"j{k}", parent, joint=joint, position=place, shape=shape, **options
        )
        parent = f"j{k}"
    C.add_frame("cup", parent, shape=pw.Cylinder(0.1, 0.05), mass=0.1)
    C.lock(["j7", "j31"])
    return C


def mixed() -> pw.Config:
    """An arm with limits on some joints, a ball joint and a free box."""
    C = pw.Config()
    C.add_frame("floor", shape=pw.Plane())
    limits = [[-1.0], [2.0]]
    C.add_frame("j0", joint="hingeZ", limits=limits, position=[0, 0, 0.3], mass=1.0)
    C.add_frame("j1", "j0", joint="hingeY", position=[0, 0, 0.3], mass=1.0)
    C.add_frame("wrist", "j1", joint="quatBall", position=[0, 0, 0.3], mass=0.5)
    C.add_frame("hand", "wrist", position=[0, 0, 0.1], shape=pw.Box([0.1, 0.1, 0.02]))
    C.add_frame("finger", "hand", joint="transX", limits=[[0.0], [0.04]])
    C.add_frame("other", "hand", joint="transX", mimic="finger", multiplier=-1.0)
    box = pw.Box([0.06, 0.06, 0.06], rounding=0.005)
    C.add_frame("box", joint="free", position=[0.5, 0, 0.03], shape=box, mass=0.2)
    C.add_frame("can", position=[0, 0.5, 0.1], shape=pw.Cylinder(0.2, 0.05), mass=0.2)
    return C


WORLDS = {
    "hinge": lambda: single(joint="hingeZ"),
    "slide": lambda: single(joint="transX", limits=[[-0.5], [0.5]]),
    "free": lambda: single(joint="free"),
    "ball": lambda: single(joint="quatBall"),
    "planar": lambda: single(joint="transXYPhi"),
    "mixed": mixed,
    "all types": lambda: random_tree(0, 20),
    "sixty": many_joints,
}

SHARES = [0.15, 0.1, 0.15, 0.15, 0.1, 0.25, 0.05, 0.05]
"""Shares of these worlds."""


@cache
def base_world(name: str) -> pw.Config:
    return WORLDS[name]()


def draw_feature(C: pw.Config, rng: np.random.Generator, order: int) -> pw.Feature:
    """Draw a feature on frames of a world, with a target and a scale that fit it."""
    symbol = SYMBOLS[rng.integers(len(SYMBOLS))]
    low, high = symbol.symbol.frames
    names = [*C.frame_names]
    solid = [f.name for f in C.frames if f.geometries]
    if symbol.symbol.takes_joints and low == 0:
        names = [*C.joint_names]
    elif rng.random() < 0.7:
        names = solid
    count = int(rng.integers(low, min(high or low + 3, len(names)) + 1))
    frames = [str(name) for name in rng.choice(names, count, replace=False)]
    lowest = symbol.symbol.window
    order = int(rng.integers(lowest, order + 1)) if lowest <= order else lowest
    bound = pw.Feature(symbol, frames, order=order).bind(C)
    D = len(bound.target)
    scales = [
        None,
        0.0,
        3.0,
        rng.normal(size=D),
        rng.normal(size=(rng.integers(1, 4), D)),
    ]
    targets = [None, 0.1, rng.normal(size=D), np.zeros(D)]
    # Without rows there is nothing to scale one by one.
    scale = scales[rng.integers(len(scales) if D else 3)]
    target = targets[rng.integers(len(targets) if D else 1)]
    return pw.Feature(symbol, frames, order=order, scale=scale, target=target)


def draw_times(rng: np.random.Generator) -> list[float] | None:
    return [None, [1.0], [0.0, 1.0], [0.4, 0.9]][rng.integers(4)]


def run(rng: np.random.Generator, name: str, most: int, errors: Counter[str]) -> bool:
    """Draw a problem and solve it in a few iterations; return whether it was solved.

    Args:
        rng: the source of randomness.
        name: of the world.
        most: largest number of objectives.
        errors: gets the errors of the product, which refuse a part of the problem.
    """
    C = base_world(name).copy()
    order = int(rng.integers(3))
    komo = pw.KOMO(C, 1, int(rng.choice([1, 2, 4])), order)
    if rng.random() < 0.7 and order:
        komo.add_control_objective(order, 0.1)
    for _ in range(rng.integers(1, most + 1)):
        try:
            feature = draw_feature(C, rng, order)
            kind = OT(rng.choice([0, 1, 2]))
            komo.add_objective(draw_times(rng), feature, type=kind)
        except pw.PosewiseError as error:
            errors[f"{type(error).__name__}: {error}"] += 1
    try:
        solution = komo.solve(max_iterations=2, progress=False)
    except pw.PosewiseError as error:
        errors[f"{type(error).__name__}: {error}"] += 1
        return False
    assert np.isfinite(solution.path).all()
    assert np.isfinite([solution.sos, solution.eq, solution.ineq]).all()
    assert solution.report() and solution.message
    return True


def run_strictly(seed: int, name: str, most: int, errors: Counter[str]) -> bool:
    """Run a problem with all warnings but the product's as errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)
        try:
            return run(np.random.default_rng([SEED, seed]), name, most, errors)
        except Exception as error:
            error.add_note(f"seed {seed}, world {name}")
            raise


def world_of(seed: int) -> str:
    """Return the name of the world of a problem; large ones are rare."""
    rng = np.random.default_rng([SEED, seed, 1])
    return str(rng.choice([*WORLDS], p=SHARES))


@pytest.mark.sampled
@pytest.mark.parametrize("seed, name", [*enumerate([*WORLDS][:5])])
def test_random_problems(seed, name):
    run_strictly(seed, name, 2, Counter())


@pytest.mark.slow
def test_many_random_problems():
    errors: Counter[str] = Counter()
    solved = [run_strictly(s, world_of(s), 8, errors) for s in range(LONG)]
    assert np.mean(solved) > 0.8, errors.most_common(20)

"""Ranges of heat: nearest points, centres, and rows that are sound for both."""

import numpy as np
import pytest
from helpers.predicate_scenes import at, crate

import posewise as pw
from posewise import logic
from posewise.logic.geometry.frame_groups import find_object
from posewise.logic.states.relaxed.range_features import out_of_range, within_range
from posewise.logic.states.thermal_range import is_centre_within, is_within

RANGE = 0.2


def kitchen() -> pw.Config:
    """A flame at the origin, and objects that are long, hollow, jointed or points."""
    C = pw.Config()
    source = {"heatSource": {"temperature": 500, "distance_threshold": RANGE}}
    C.add_object("flame", [(pw.Sphere(0.01), None)], abilities=source)
    hot = {"cookable": {}}
    things = {
        "spit": [(pw.Box([1.0, 0.02, 0.02]), None)],
        "bowl": crate(0.6, 0.6, 0.05),
        "pan": [(pw.Cylinder(0.02, 0.1), None)],
    }
    for name, parts in things.items():
        C.add_object(name, parts, pose=at(3), joint="free", abilities=hot)
    C.add_frame(
        "handle", "pan", joint="hingeZ", limits=[[-1], [1]], position=[0.1, 0, 0]
    )
    C.add_frame("grip", "handle", shape=pw.Capsule(0.2, 0.01), position=[0.1, 0, 0])
    C.add_object("spice", pose=at(3), joint="free", abilities=hot)
    return C


NEAREST = [
    # object, place, nearest point within 0.2, centre within 0.2
    ("spit", at(0.6), True, False),
    ("spit", at(0.75), False, False),
    ("spit", at(0.1, 0.1), True, True),
    ("bowl", at(0, 0.48, -0.01), True, False),
    ("bowl", at(0, 0, 0.05), True, True),
    ("pan", at(0, 0.5), False, False),
    ("spice", at(0.19), True, True),
    ("spice", at(0.21), False, False),
]


@pytest.mark.parametrize("thing, pose, nearest, centre", NEAREST)
def test_heat_reaches_the_nearest_point(thing, pose, nearest, centre):
    C = kitchen()
    C.set_joint(thing, pose)
    for semantics, warms in (("posewise", nearest), ("igibson", centre)):
        history = logic.rollout(C, C.q[None], semantics=semantics)
        assert (history[thing].temperature[0] > 23) is np.bool_(warms)
    with pytest.raises(pw.ConfigError, match="semantics"):
        logic.rollout(C, C.q[None], semantics="nearest")


def test_a_handle_reaches_into_the_range():
    C = kitchen()
    C.set_joint("pan", at(-0.38))
    assert is_within(find_object(C, "pan"), np.zeros(3), RANGE)
    C.set_joint("handle", [1.0])
    assert not is_within(find_object(C, "pan"), np.zeros(3), RANGE)


@pytest.mark.slow
@pytest.mark.parametrize("thing", ["spit", "bowl", "pan", "spice"])
def test_rows_of_ranges_are_sound_by_both_rules(thing):
    C, rng = kitchen(), np.random.default_rng(0)
    rows = [
        (within_range(C, thing, "flame", RANGE), True),
        (out_of_range(C, thing, "flame", RANGE), False),
    ]
    bound = [(feature.function(C), truth) for feature, truth in rows]
    met = np.zeros(2, int)
    for k in range(60):
        pose = at(*rng.uniform(-1, 1, 3) * (0.3 + 0.7 * (k % 2)), rng.uniform(0, 6))
        C.set_joint(thing, pose)
        C.set_joint("handle", rng.uniform(-1, 1, 1))
        for j, (feature, truth) in enumerate(bound):
            q = C.q if truth else np.stack([C.q, C.q])
            if feature(q)[0] <= 0:
                met[j] += 1
                group = find_object(C, thing)
                assert is_within(group, np.zeros(3), RANGE) == truth
                assert is_centre_within(group, np.zeros(3), RANGE) == truth
    assert (met > 0).all()

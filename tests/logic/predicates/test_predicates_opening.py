"""Open: our models, and annotations."""

import pytest
from helpers.oracle import SHARED
from helpers.predicate_scenes import door

import posewise as pw
from posewise.logic import Open


@pytest.mark.parametrize("prefix", ["", "left_"])
def test_our_models_open(prefix):
    for name in ("cupboard", "microwave"):
        C = pw.Config()
        C.load("planar3")
        C.load(name, prefix=prefix)
        p = Open(f"{prefix}{name}")
        assert not p.holds(C) and p.explain(C).endswith(
            "0.0 % open, not more than 5 %."
        )
        for joint in C.objects[p.a].abilities["openable"]["joints"]:
            assert joint.startswith(prefix)
            low, high = C.limits[:, C.joints.coordinates(joint)[0]]
            for share, truth in ((0.04, False), (0.06, True), (1.0, True), (1.2, True)):
                C.set_joint(joint, low + share * (high - low))
                assert p.holds(C) is truth
                assert Open(p.a, semantics="igibson").holds(C) is truth
                assert f"{joint!r} is {100 * share:.1f} % open" in p.explain(C)
            C.set_joint(joint, low)


OPENINGS = [
    # annotation, q, posewise, igibson, document
    (None, 1.0, True, False, True),
    (None, 0.05, False, False, False),
    ({}, 1.0, True, False, True),
    ({"joints": []}, 1.0, False, False, False),
    ({"joints": "door"}, 1.0, True, True, True),
    ({"joints": ["door"]}, 0.09, False, False, False),
    ({"joints": {"door": -1}}, 1.0, True, True, True),
    ({"joints": {"door": -1}}, 1.95, False, False, True),
    ({"joints": {"door": -1}}, -0.5, True, True, False),
    ({"joints": ["door"], "both_sides": True}, 1.0, True, True, True),
    ({"joints": ["door"], "both_sides": True}, 1.95, False, False, True),
]


ENDS = {
    # limits: closed at, guessed?
    (-1.57, 0.0): (0.0, False),
    (0.0, 0.4): (0.0, False),
    (-1e-4, 1.5): (-1e-4, False),
    (-0.5, 1e-5): (1e-5, False),
    (-1.0, 1.0): (-1.0, True),
    (0.2, 0.9): (0.2, True),
}


@pytest.mark.parametrize("openable", [None, {"joints": ["door"]}])
@pytest.mark.parametrize("limits", ENDS)
def test_a_joint_is_closed_at_its_limit_zero(openable, limits):
    closed, guess = ENDS[limits]
    (open_,) = set(limits) - {closed}
    for share, truth in ((0.0, False), (0.04, False), (0.06, True), (1.0, True)):
        q = closed + share * (open_ - closed)
        C = door(openable, q, [[x] for x in limits])
        p = Open("safe")
        assert p.holds(C) is truth
        assert (p.violation(C) <= 0) <= truth and ((~p).violation(C) <= 0) <= (
            not truth
        )
        assert ("a guess" in p.explain(C)) is guess
    with_direction = {"joints": {"door": -1}}
    assert "guess" not in Open("safe").explain(door(with_direction, 0.0, [[-1], [1]]))


def test_shared_case_is_closed_at_zero():
    path = SHARED / "cases" / "cab.urdf"
    if not path.exists():
        pytest.skip(f"no reference data at {path}")
    C = pw.Config()
    C.add_file(path)
    assert not Open("cab").holds(C)
    C.q = [-1.0]
    assert Open("cab").holds(C)


@pytest.mark.parametrize(("openable", "q", *"pid"), OPENINGS)
def test_annotations_of_open(openable, q, p, i, d):
    C = door(openable, q)
    truths = [
        Open("safe", semantics=s).holds(C) for s in ("posewise", "igibson", "document")
    ]
    assert truths == [p, i, d]

"""Open: our models, and annotations."""

import pytest
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
            low, high = C.limits[:, C.coordinates(joint)[0]]
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


@pytest.mark.parametrize(("openable", "q", *"pid"), OPENINGS)
def test_annotations_of_open(openable, q, p, i, d):
    C = door(openable, q)
    found = [
        Open("safe", semantics=s).holds(C) for s in ("posewise", "igibson", "document")
    ]
    assert found == [p, i, d]

"""Limits of a joint whose followers have limits, against a scan of its values."""

import numpy as np
import pytest
from helpers.cases import case

import posewise as pw


def world(leader, followers) -> pw.Config:
    """A hinge and its followers (leader, limits, multiplier, offset)."""
    C = pw.Config()
    C.add_frame("j0", joint="hinge", axis=[0, 0, 1], limits=leader)
    for k, (of, limits, multiplier, offset) in enumerate(followers, 1):
        C.add_frame(
            f"j{k}",
            joint="hinge",
            axis=[0, 0, 1],
            limits=limits,
            mimic=of,
            multiplier=multiplier,
            offset=offset,
        )
    return C


CASES = {
    "factor": ([-1, 1], [("j0", [-0.5, 0.5], 2, 0)]),
    "negative": ([-1, 1], [("j0", [-0.2, 0.6], -2, 0)]),
    "offset": ([-1, 1], [("j0", [0, 1], 1, 0.25)]),
    "negative with offset": ([-3, 3], [("j0", [-1, 0.5], -0.5, 0.75)]),
    "two": ([-1, 1], [("j0", [-0.5, 2], 1, 0), ("j0", [-2, 0.25], 1, 0)]),
    "chain": ([-1, 1], [("j0", None, -2, 0.5), ("j1", [-0.5, 1], 3, -0.25)]),
    "chain of three": (
        [-9, 9],
        [("j0", [-4, 4], 2, 1), ("j1", None, 0.5, 0), ("j2", [-1, 1], -1, 0.5)],
    ),
    "unlimited leader": (None, [("j0", [-1, 2], 2, 0)]),
    "wider": ([-1, 1], [("j0", [-5, 5], 2, 0)]),
    "constant": ([-1, 1], [("j0", [-5, 5], 0, 2)]),
}


@pytest.mark.sampled
@pytest.mark.parametrize("leader, followers", CASES.values(), ids=CASES)
def test_followers_bound_their_leader(leader, followers):
    C = world(leader, followers)
    low, high = C.limits[:, 0]
    allowed = []
    for q in np.linspace(-10, 10, 4001):
        C.q = [q]
        limits = [leader, *(f[1] for f in followers)]
        values = [C.joints.value(f"j{k}")[0] for k in range(len(limits))]
        if all(
            bounds is None or bounds[0] - 1e-9 <= value <= bounds[1] + 1e-9
            for bounds, value in zip(limits, values, strict=True)
        ):
            allowed.append(q)
    assert (low, high) == pytest.approx((allowed[0], allowed[-1]), abs=0.006)


CONTRADICTIONS = {
    "apart": [("j0", [2, 3], 1, 0)],
    "one value": [("j0", [1, 2], 1, 0)],
    "each other": [("j0", [-1, -0.5], 1, 0), ("j0", [0.5, 1], 1, 0)],
}


@pytest.mark.parametrize("followers", CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_contradictions_warn_once_and_leave_the_leaders_own(followers):
    leader = [-1, 1]
    with pytest.warns(UserWarning, match="mimic 'j0' .*leave it no range") as caught:
        C = world(leader, followers)
        assert C.limits[:, 0].tolist() == leader
        C.add_frame("more")
        assert C.copy().limits[:, 0].tolist() == leader
    assert len({str(w.message) for w in caught}) == len(caught)


def test_limits_that_a_mirrored_follower_copies_do_not_count():
    # PR2's grippers: a follower at -q with the limits of its leader
    C = world([0, 1], [("j0", [0, 1], -1, 0), ("j0", [0, 0.5], 1, 0)])
    assert C.limits[:, 0].tolist() == [0, 0.5]


def test_a_leader_without_a_range_stays_without_a_warning():
    C = world([0.1, 0.1], [("j0", [0.2, 0.2], 2, 0)])
    assert C.limits[:, 0] == pytest.approx([0.1, 0.1])


def test_limits_that_change_later_count():
    C = world([-1, 1], [("j0", [-0.5, 0.5], 2, 0)])
    C.joints.set_limits("j1", [-1, 1])
    assert C.limits[:, 0].tolist() == [-0.5, 0.5]
    C.joints.set_limits("j1", None)
    assert C.limits[:, 0].tolist() == [-1, 1]


def test_speeds_go_through_the_factor():
    mimic = (
        '<limit lower="-9" upper="9" velocity="3"/><mimic joint="j" multiplier="-4"/>'
    )
    C = pw.Config()
    C.add_text(
        '<robot name="r"><link name="a"/><link name="b"/><link name="c"/>'
        '<joint name="j" type="revolute"><parent link="a"/><child link="b"/>'
        '<limit lower="-1" upper="1" velocity="2"/></joint><joint name="k"'
        f' type="revolute"><parent link="a"/><child link="c"/>{mimic}</joint></robot>'
    )
    assert C.joints.max_velocity.tolist() == [0.75]


def test_mjcf():
    pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    C = pw.Config()
    C.add_text(
        "<mujoco><worldbody>"
        '<body name="a"><joint name="j" type="slide" range="-1 1"/><geom size=".1"/>'
        '</body><body name="b"><joint name="k" type="slide" range="-.5 .25"/>'
        '<geom size=".1"/></body></worldbody><equality>'
        '<joint joint1="k" joint2="j" polycoef="0 -2 0 0 0"/></equality></mujoco>'
    )
    assert C.limits[:, 0] == pytest.approx([-0.125, 0.25])


def test_shared_case():
    C = pw.Config()
    C.add_file(case("mimiclim.urdf"))
    assert C.limits.tolist() == [[-0.25], [0.25]]

"""Default exclusions with fitted shapes, crowded homes and wrong units."""

import warnings

import numpy as np
import pytest
import trimesh
from helpers.reference_kinematics import EXAMPLES

import posewise as pw
from posewise import FS, OT

WING = trimesh.creation.box([0.02, 0.02, 0.4])


def folding_arm(gap: float = 0.02) -> pw.Config:
    """Return an arm whose last link, a thin wing, is beside its first at home."""
    C = pw.Config()
    mesh = pw.Mesh(WING, mode="convex")
    C.add_frame("base", shape=[(mesh, [0, 0, 0.2, 1, 0, 0, 0])])
    C.add_frame("elbow", "base", joint="hingeY", limits=[-2, 2])
    C.set_pose("elbow", [0, 0, 0, 1, 0, 0, 0])
    C.add_frame("wrist", "elbow", joint="hingeY", limits=[-2, 2])
    C.set_shape("elbow", pw.Sphere(0.01))
    C.set_contact("elbow", 1)
    place = [0.02 + gap, 0, 0.2, 1, 0, 0, 0]
    C.add_frame("wing", "wrist", pose=place, shape=mesh)
    return C


def reasons(C: pw.Config) -> dict[tuple[str, str], str]:
    return {(p.a, p.b): p.reason for p in C.pairs.ignore_default(samples=300)}


@pytest.mark.long
def test_fits_do_not_hide_collisions():
    C = folding_arm()
    assert C.collisions() == [] or C.collisions()[0][:2] != ("base", "wing")
    plain = reasons(folding_arm())
    assert ("base", "wing") not in plain
    C.fit_collisions("spheres", tolerance=np.inf)
    with pytest.warns(UserWarning, match="only because.*'base' and 'wing'.*closer"):
        assert reasons(C) == plain
    assert ("base", "wing") in C.pairs.names()
    assert ("base", "wing") in [hit[:2] for hit in C.collisions()]
    # The advice of the warning: boxes are exact here.
    C.fit_collisions("boxes", links=["base", "wing"])
    assert ("base", "wing") not in [hit[:2] for hit in C.collisions()]


def test_order_of_fit_and_exclusions_does_not_matter():
    first, last = folding_arm(gap=-0.01), folding_arm(gap=-0.01)
    first.fit_collisions("capsules")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        excluded = reasons(first)
        assert excluded == reasons(last)
    assert excluded["base", "wing"] == "Default"


def test_fits_begin_at_the_meshes_again():
    C, fresh = folding_arm(), folding_arm()
    C.fit_collisions("spheres", tolerance=np.inf)
    C.set_color("wing", [1, 0, 0])
    again = C.fit_collisions("boxes").links
    assert [(x.frame, x.volume_ratio) for x in again] == [
        (x.frame, x.volume_ratio) for x in fresh.fit_collisions("boxes").links
    ]
    assert {g.color for g in C.frame("wing").geometries if g.visual} == {(1, 0, 0)}
    C.set_shape("wing", pw.Sphere(0.1))
    assert C.frame("wing").unfitted == ()


def test_a_crowded_home_costs_a_warning():
    C = pw.Config()
    C.add_frame("l0", shape=pw.Sphere(0.5))
    for k in range(1, 5):
        C.add_frame(f"l{k}", f"l{k - 1}", joint="hingeZ", shape=pw.Sphere(0.5))
        C.replace_frame(f"l{k}", origin=np.array([0.1, 0, 0, 1, 0, 0, 0]))
    with pytest.warns(UserWarning, match='6 of 6 pairs.*"Default".*C.home = q'):
        C.pairs.ignore_default(samples=10)


URDF = """<robot name="r"><link name="base"/>{links}</robot>"""
LINK = """<link name="l{k}"><collision><geometry><mesh filename="bar.stl"{scale}/>
</geometry></collision></link><joint name="j{k}" type="revolute"><parent link="{p}"/>
<child link="l{k}"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>"""


def robot_file(folder, scale: str):
    trimesh.creation.box([20, 20, 250]).export(folder / "bar.stl")
    links = "".join(
        LINK.format(k=k, p=f"l{k - 1}" if k else "base", scale=scale) for k in range(4)
    )
    (folder / "r.urdf").write_text(URDF.format(links=links))
    return folder / "r.urdf"


QUESTIONS = {
    "collisions": lambda C: C.collisions(),
    "exclusions": lambda C: C.pairs.ignore_default(samples=5),
    "feature": lambda C: C.eval(pw.FS.accumulatedCollisions),
}


@pytest.mark.sampled
@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.parametrize("fits", [False, True])
def test_meshes_in_millimetres_cost_a_warning(fits, ask, tmp_path):
    C = pw.Config()
    C.add_file(robot_file(tmp_path, ""))
    if fits:
        C.fit_collisions("capsules")
    with pytest.warns(UserWarning) as caught:
        ask(C)
        C.copy().collisions()
    text = [str(w.message) for w in caught if "far larger" in str(w.message)]
    (message,) = text
    for part in ("'l0' (126 m)" if not fits else "'l0' (", "within 1.2 m", 'scale="0'):
        assert part in message


def test_meshes_in_metres_cost_none(tmp_path):
    C = pw.Config()
    C.add_file(robot_file(tmp_path, ' scale="0.001 0.001 0.001"'))
    C.add_frame("floor", shape=pw.Plane())
    C.add_frame("house", position=[0, 0, -60], shape=pw.Box([100, 100, 100]))
    C.add_frame("door", "house", joint="hingeZ", shape=pw.Box([1, 0.1, 2]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        C.collisions()


def turntable(gap: float, size: float = 1.0) -> pw.Config:
    """Return a bar that turns above a slab and tilts by 10 mm; a stub is between them.

    All lengths, the gap of slab and bar too, are times the size [m].
    """
    C = pw.Config()

    def link(name: str, extents: list[float], height: float, *parent: str) -> None:
        mesh = trimesh.creation.box(size * np.array(extents))
        place = [0, 0, size * height, 1, 0, 0, 0]
        C.add_frame(name, *parent, shape=[(pw.Mesh(mesh, mode="convex"), place)])

    link("slab", [0.5, 0.4, 0.1], -0.05 - gap)
    C.add_frame("pan", "slab", joint="hingeZ", limits=[-3, 3])
    link("stub", [0.02, 0.02, 0.02], 0.0, "pan")
    C.add_frame("lift", "stub", joint="hingeY", limits=[-0.04, 0.04])
    link("bar", [0.5, 0.1, 0.1], 0.05, "lift")
    return C


def hulls_and_fits(C: pw.Config) -> tuple[float, float]:
    """Return the distance of slab and bar before and after a fit by capsules."""
    before = C.signed_distance("slab", "bar")[0]
    report = C.fit_collisions("capsules")
    assert {*report.closer, *report.hulls} <= {"slab", "bar"}
    return before, C.signed_distance("slab", "bar")[0]


def test_fits_that_fill_a_gap_are_made_closer():
    C = turntable(gap=0.02)
    C.fit_collisions("capsules", tolerance=np.inf)
    assert C.signed_distance("slab", "bar")[0] < 0
    before, after = hulls_and_fits(C)
    assert before < 0  # of the fit with one capsule a link
    assert after >= 0.01
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert reasons(C) == reasons(turntable(gap=0.02))
    report = turntable(gap=0.02).fit_collisions("capsules")
    assert "fill a gap to another link" in str(report)
    assert len(report.links) == 3


def test_fits_without_gaps_stay():
    for C in (turntable(gap=0.5), turntable(gap=-0.02)):
        report = C.fit_collisions("capsules")
        assert report.closer == report.hulls == ()


def test_fits_of_links_that_were_not_asked_for_stay():
    C = turntable(gap=0.02)
    C.fit_collisions("capsules", tolerance=np.inf, links=["slab"])
    fitted = C.frame("slab").geometries
    C.fit_collisions("capsules", links=["bar"])
    assert C.frame("slab").geometries == fitted


@pytest.mark.parametrize(
    ("gap", "size", "reason"),
    [
        (0.004, 1.0, "Near"),
        (0.02, 1.0, None),
        (-0.004, 1.0, "Default"),
        (0.04, 0.1, None),  # 4 mm are much for a robot of 7 cm
        (0.004, 0.1, "Near"),
    ],
)
def test_links_that_are_always_near_are_excluded(gap, size, reason):
    C = turntable(gap, size)
    excluded = {(p.a, p.b): p.reason for p in C.pairs.ignore_default(samples=300)}
    if reason is None:
        assert excluded.get(("slab", "bar")) == "Never"
    else:
        assert excluded["slab", "bar"] == reason


PAGE_ROBOTS = {
    "ur5": ("ur_description/urdf/ur5_robot.urdf", "wrist_3_link"),
    "so101": ("so_arm_description/urdf/so101.urdf", "gripper_link"),
    "pr2": ("pr2_description/urdf/pr2.urdf", "r_gripper_palm_link"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name, tip", PAGE_ROBOTS.values(), ids=PAGE_ROBOTS)
def test_the_lines_of_the_page_about_your_robot(name, tip):
    C = pw.Config()
    C.add_file(EXAMPLES / name, packages={"example-robot-data": EXAMPLES.parent})
    C.fit_collisions("capsules")
    C.pairs.ignore_default()
    komo = pw.KOMO(C)
    komo.add_control_objective(order=0, scale=0.1)
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq, margin=0.01)
    C.q = komo.solve(starts=8, progress=False).q
    target = C.pose(tip)[:3] + [0, 0, 0.03]
    komo.add_objective(None, FS.position, [tip], OT.eq, target=target)
    solution = komo.solve(starts=8, progress=False)
    C.q = solution.q
    assert solution.feasible and not C.collisions()

"""Bodies of MJCF that collide, against MuJoCo's own contacts."""

import numpy as np
import pytest
from helpers.cases import case

import posewise as pw
from posewise import FS

mujoco = pytest.importorskip("mujoco", reason="MJCF needs mujoco")


def random_model(rng: np.random.Generator) -> str:
    """Bodies of several balls with random bits, exclusions and explicit pairs."""
    geoms: list[str] = []

    def balls(body: str) -> str:
        text = ""
        for k in range(rng.integers(1, 3)):
            geoms.append(f"{body}_{k}")
            contype, conaffinity = rng.integers(0, 8, 2) * (rng.random() < 0.8)
            bits = f'contype="{contype}" conaffinity="{conaffinity}"'
            bits = rng.choice([bits, bits, bits, 'class="c"', ""])
            place = " ".join(map(str, rng.uniform(-0.2, 0.2, 3)))
            text += f'<geom name="{body}_{k}" size=".12" pos="{place}" {bits}/>'
        return text

    bodies, text = [], balls("w")
    for b in "abc":
        inner = ""
        if rng.random() < 0.5:
            bodies.append(f"{b}{b}")
            inner = f'<body name="{b}{b}"><joint/>{balls(2 * b)}</body>'
        bodies.append(b)
        inertia = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        text += f'<body name="{b}"><freejoint/>{inertia}{balls(b)}{inner}</body>'
    excluded = [sorted(rng.choice(bodies, 2, False)) for _ in range(3)]
    pairs = {tuple(sorted(rng.choice(geoms, 2, False))) for _ in range(3)}
    contact = "".join(f'<exclude body1="{a}" body2="{b}"/>' for a, b in excluded)
    contact += "".join(f'<pair geom1="{a}" geom2="{b}"/>' for a, b in sorted(pairs))
    default = '<default class="c"><geom contype="2" conaffinity="5"/></default>'
    return (
        f"<mujoco><default>{default}</default><worldbody>{text}</worldbody>"
        f"<contact>{contact}</contact></mujoco>"
    )


def touching(model, data, q) -> set[frozenset[str]]:
    """The pairs of bodies in MuJoCo's contacts, without a body with itself."""
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    pairs = {
        frozenset(model.body(model.geom_bodyid[g]).name for g in (c.geom1, c.geom2))
        for c in data.contact
    }
    return {pair for pair in pairs if len(pair) == 2}


def test_contacts_are_those_of_mujoco():
    count = masked = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        text = random_model(rng)
        model = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(model)
        C = pw.Config()
        C.add_text(text)
        masked += any(g.mask for f in C.frames for g in f.geometries)
        for _ in range(4):
            C.q = rng.uniform(-0.3, 0.3, C.nq)
            want = touching(model, data, C.q)
            assert {frozenset(hit[:2]) for hit in C.collisions()} == want, seed
            count += len(want)
    assert count > 50 and masked > 5


PAIRS = {
    "by bits": ("", "", set()),
    "explicit": ("", '<pair geom1="a0" geom2="b0"/>', {"a b"}),
    "in spite of an exclusion": (
        "",
        '<exclude body1="a" body2="b"/><pair geom1="a0" geom2="b0"/>',
        {"a b"},
    ),
    "of other geoms": ("", '<pair geom1="a1" geom2="b0"/>', set()),
    "excluded": ('contype="3" conaffinity="3"', "", {"a b"}),
    "bits, but excluded": (
        'contype="3" conaffinity="3"',
        '<exclude body1="a" body2="b"/>',
        set(),
    ),
}


@pytest.mark.parametrize("bits, contact, want", PAIRS.values(), ids=PAIRS)
def test_explicit_pairs_and_exclusions(bits, contact, want):
    C = pw.Config()
    C.add_text(
        f"""<mujoco><worldbody><body name="a"><freejoint/><geom name="a0" size=".2"
{bits}/><geom name="a1" size=".1" pos="9 0 0" contype="2" conaffinity="2"/></body>
<body name="b"><freejoint/><geom name="b0" size=".2" contype="2" conaffinity="2"/>
</body></worldbody><contact>{contact}</contact></mujoco>"""
    )
    assert {f"{a} {b}" for a, b, _ in C.collisions()} == want


def test_shared_case():
    C = pw.Config()
    C.add_file(case("contype_per_geom.xml"))
    assert C.collisions() == []
    C.set_pose("A", [0.22, 0, 0, 1, 0, 0, 0])  # the fine ball enters the wall
    ((a, b, distance),) = C.collisions()
    assert {a, b} == {"A", "wall"} and distance == pytest.approx(-0.02)
    C.set_pose("A", [0, 0, 0.75, 1, 0, 0, 0])  # the coarse one touches B
    ((a, b, distance),) = C.collisions()
    assert {a, b} == {"A", "B"} and distance == pytest.approx(-0.05)


def test_solvers_and_simulations_see_the_same_pairs():
    C = pw.Config()
    C.add_file(case("contype_per_geom.xml"))
    y, _ = C.eval(FS.accumulatedCollisions, [])
    assert y == [0]
    y, _ = C.eval(FS.accumulatedCollisions, [], margin=0.21)
    assert y == [pytest.approx(0.01)]  # the fine ball is 0.2 m from the wall
    twin = pw.Twin(C)
    data = mujoco.MjData(twin.model)
    counts = []
    for x in (0.0, 0.22):
        C.set_pose("A", [x, 0, 0, 1, 0, 0, 0])
        data.qpos[:] = twin.qpos(C.q)
        mujoco.mj_forward(twin.model, data)
        counts.append(data.ncon)
    assert counts == [0, 1]


def test_shapes_of_other_models_touch_in_any_case():
    C = pw.Config()
    C.add_file(case("contype_per_geom.xml"), prefix="l_")
    C.add_file(case("contype_per_geom.xml"), prefix="r_", pose=[0, 0.3, 0, 1, 0, 0, 0])
    C.add_frame("ball", shape=pw.Sphere(0.01), position=[0, 0, -0.15])
    pairs = {frozenset(hit[:2]) for hit in C.collisions()}
    assert frozenset(("l_A", "ball")) in pairs
    assert frozenset(("l_A", "r_A")) in pairs


def test_fits_keep_what_shapes_may_touch():
    """A hull that is replaced keeps its mask."""
    corners = " ".join(map(str, (np.array(list(np.ndindex(2, 2, 2))) - 0.5).ravel()))
    text = (
        case("contype_per_geom.xml")
        .read_text()
        .replace("type='box' size='.05 .5 .5'", "type='mesh' mesh='m'")
    )
    asset = f"<asset><mesh name='m' vertex='{corners}'/></asset>"
    C = pw.Config()
    C.add_text(text.replace("<mujoco>", f"<mujoco>{asset}"))
    before = C.frame("wall").geometries[0].mask
    C.fit_collisions("boxes")
    assert C.frame("wall").geometries[0].mask == before is not None

"""Placements by insertion: what it finds, what it returns, and what it says if not."""

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT
from posewise.objectives.placement import problem, search
from posewise.objectives.placement.movables import free_movables
from posewise.objectives.placement.partial_placement import PartialPlacement
from posewise.objectives.placement.sampler import PlacementSampler
from posewise.objectives.placement.sampling import PlacementHints, default_region
from posewise.objectives.solve.problem_batch import make_problem_batch
from posewise.objectives.solve.settings import make_settings

WIDTHS = np.array([0.05, 0.03, 0.06, 0.04])
"""Widths of the books, which are to stand in this order [m]."""
SLACK = 0.01
NAMES = [f"book{k}" for k in range(len(WIDTHS))]


def shelf() -> tuple[pw.Config, list]:
    """A board that is hardly longer than its books, and constraints by features."""
    C = pw.Config()
    length = WIDTHS.sum() + SLACK
    C.add_frame("board", position=[0, 0, -0.01], shape=pw.Box([length, 0.2, 0.02]))
    rows = []
    for k, (name, width) in enumerate(zip(NAMES, WIDTHS, strict=True)):
        # They stand in the opposite order at first.
        position = [-0.1 * k, 0.3, 0.1]
        shape = pw.Box([width, 0.15, 0.2])
        C.add_frame(name, joint="free", position=position, shape=shape)
        rows += [
            (pw.Feature(FS.vectorZ, [name], target=[0, 0, 1]), OT.eq),
            (pw.Feature(FS.vectorX, [name], target=[1, 0, 0]), OT.eq),
            (
                pw.Feature(
                    FS.position,
                    [name],
                    scale=np.diag([0.0, 1, 1])[1:],
                    target=[0, 0, 0.1],
                ),
                OT.eq,
            ),
        ]
        for sign in (-1.0, 1.0):
            target = [sign * (length - width) / 2, 0, 0]
            scale = [[sign, 0, 0]]
            rows.append(
                (pw.Feature(FS.position, [name], scale=scale, target=target), OT.ineq)
            )
    for a, b in zip(NAMES[:-1], NAMES[1:], strict=True):
        rows.append((pw.Feature(FS.positionDiff, [a, b], scale=[[1, 0, 0]]), OT.ineq))
    return C, rows


def place(C: pw.Config, rows: list, **options) -> list[pw.Placement]:
    options = {"starts": 4, "count": 1, "progress": False} | options
    return pw.solve_placement(C, rows, NAMES, **options)


@pytest.mark.long
def test_finds_what_joint_starts_do_not():
    C, rows = shelf()
    (placement,) = [p for p in place(C, rows) if p.feasible]
    assert placement.solution.start >= search.JOINT_STARTS
    placement.apply(C)
    x = [C.pose(name)[0] for name in NAMES]
    assert (np.diff(x) > (WIDTHS[1:] + WIDTHS[:-1]) / 2 - 1e-3).all()
    assert not C.collisions(margin=-1e-3)
    for feature, kind in rows:
        y = np.asarray(feature.eval(C)[0])
        assert (np.abs(y) if kind is OT.eq else y).max() < 1.01e-3


@pytest.mark.long
def test_returns_distinct_placements():
    C, rows = shelf()
    few = place(C, rows, count=3, min_separation=(1e-3, 0.1))
    feasible = [p for p in few if p.feasible]
    assert len(feasible) == 3
    x = np.array([[p.poses[name][0] for name in NAMES] for p in feasible])
    gaps = np.abs(x[:, None] - x).max(-1)[np.triu_indices(3, 1)]
    assert (gaps > 1e-3).all()
    assert [p.cost for p in feasible] == sorted(p.cost for p in feasible)


BEYOND = (
    pw.Feature(FS.position, ["book1"], scale=[[1, 0, 0]], target=[0.5, 0, 0]),
    OT.eq,
)
WITHIN = (
    pw.Feature(
        FS.positionRel, ["book2", "book1"], scale=np.eye(2, 3), target=[0.02, 0, 0]
    ),
    OT.eq,
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("added", "parts"),
    [
        (BEYOND, ["'book1' was not placed even with no other", "position(book1)"]),
        (WITHIN, ["'book1'", "'book2'", "were not placed even by themselves"]),
    ],
    ids=["one object", "two objects"],
)
def test_says_what_found_no_place(added, parts):
    C, rows = shelf()
    best = place(C, [*rows, added])[0]
    assert not best.feasible
    assert "conflict" not in best.message
    for part in ["Not found from 4 starts", *parts]:
        assert part in best.message


def test_dependences_are_seen_from_samples():
    """Rows depend on the movables that their features name, and on no other."""
    C, rows = shelf()
    world, names = free_movables(C, NAMES)
    region, no_hints = default_region(world, names), lambda *_: PlacementHints()
    sampler = PlacementSampler(world, names, region, no_hints, {}, [], [])
    spec = problem._constrain(world, rows, (), sampler)
    scene = PartialPlacement(
        sampler,
        make_problem_batch([spec], {}),
        make_settings(spec, 1e-3, False, {}, starts=4),
        1,
        np.random.default_rng(0),
    )
    for objective, parts in zip(spec.objectives, scene.problem.locations, strict=True):
        expected = np.isin(NAMES, objective.feature.frames)
        dependences = scene.depends[
            np.concatenate([p.positions.ravel() for p in parts])
        ]
        assert (dependences.any(0) == expected).all(), objective.name


def test_an_interrupt_keeps_what_was_found(monkeypatch):
    C, rows = shelf()

    def interrupt(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(search.Insertion, "end", interrupt)
    placements = place(C, [*rows, BEYOND])
    assert "Interrupted after 2 of 4 starts" in placements[0].message


@pytest.mark.long
def test_ends_in_time():
    C, rows = shelf()
    place(C, rows)
    placements = place(C, [*rows, BEYOND], starts=1000, max_time=0.5)
    assert not placements[0].feasible
    assert "Time limit of 0.5 s" in placements[0].message


def test_old_name_of_count():
    C, rows = shelf()
    with pytest.warns(DeprecationWarning, match="now called count"):
        old = pw.solve_placement(
            C, rows, NAMES, starts=4, max_solutions=1, progress=False
        )
    assert sum(p.feasible for p in old) == 1
    with pytest.raises(pw.ObjectiveError, match="old name of count"):
        place(C, rows, max_solutions=1)

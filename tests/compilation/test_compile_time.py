"""Sentences on compiling, its time, and programs that are compiled ahead."""

import re
import threading

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT
from posewise.compilation.compile_time import compiling, novelty, total_compile_seconds
from posewise.objectives.preparation import surrounded
from posewise.objectives.problem.spec import compile_chain


def slider(bodies=(), joint="transX") -> pw.Config:
    C = pw.Config()
    C.add_frame("ball", joint=joint, shape=pw.Sphere(0.1))
    for k, shape in enumerate(bodies):
        C.add_frame(f"body {k}", position=[1.0 + k, 1, 0], shape=shape)
    return C


def path(C: pw.Config, slices=2, extra=()) -> pw.KOMO:
    komo = pw.KOMO(C, 1, slices, 1)
    komo.add_control_objective(1)
    komo.avoid_collisions(0.01)
    for symbol in extra:
        komo.add_objective([1.0], symbol, ["ball"], OT.sos)
    return komo


BOX, BALL = pw.Box([0.1, 0.1, 0.1]), pw.Sphere(0.1)
NOVELTIES = {
    "the first problem": (path(slider([BOX])), [], "the first problem"),
    "other joints": (path(slider([BOX], "transXY")), [path(slider([BOX]))], "joints"),
    "slices": (path(slider([BOX]), 3), [path(slider([BOX]))], "3 slices of order 1"),
    "features": (
        path(slider([BOX]), extra=[FS.position]),
        [path(slider([BOX])), path(slider([BOX], "transXY"))],
        "position of order 0",
    ),
    "kinds of bodies": (
        path(slider([BOX, pw.Cylinder(1, 0.1)])),
        [path(slider([BOX]))],
        r"new kinds of bodies .*\(round\)",
    ),
    "more bodies": (
        path(slider([BALL] * 40, "hingeX")),
        [path(slider([BOX], "hingeX"))],
        "more bodies",
    ),
}


@pytest.mark.parametrize("name", NOVELTIES)
def test_what_is_new_about_a_problem_is_told(name):
    komo, others, words = NOVELTIES[name]
    # Those compiled for before come first, since a larger program serves less.
    known = [compile_chain(other.spec).chain for other in others]
    assert re.search(words, novelty(compile_chain(komo.spec).chain, known))


def test_programs_that_compile_at_one_time_count_once():
    begin, barrier = total_compile_seconds(), threading.Barrier(2)

    def compile_for_a_while():
        with compiling(""):
            barrier.wait()
            barrier.wait()

    threads = [threading.Thread(target=compile_for_a_while) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = total_compile_seconds() - begin
    with compiling(""):
        pass
    assert 0 < spent <= total_compile_seconds() - begin


@pytest.mark.parametrize(
    "problems, bodies, words",
    [
        ([None], (4,), "problems has a NoneType, expected a KOMO"),
        (path(slider([BOX])), (-1,), "bodies is -1"),
        (path(slider([BOX])), (2.5,), "bodies is 2.5"),
        (path(slider([BOX])), None, "bodies is None"),
        (path(slider([BOX])), "4", "bodies is '4'"),
        (None, (4,), "problems has a NoneType"),
    ],
)
def test_what_cannot_be_prepared_is_refused(problems, bodies, words):
    with pytest.raises(pw.ObjectiveError, match=words):
        pw.prepare(problems, bodies)


def test_bodies_stand_out_of_reach_of_the_robot():
    C = surrounded(slider([BOX]), 8)
    assert len(C.frames) == 10
    assert not C.collisions(10.0)[1:]


@pytest.mark.slow
def test_what_is_prepared_compiles_nothing(compiled):
    # Other tests ask for smaller programs of two slices, and leave them uncompiled.
    pw.prepare(path(slider([BOX]), slices=4), bodies=4, progress=False)
    before = len(compiled())
    assert before
    hull = pw.Convex(np.random.default_rng(0).normal(size=(9, 3)) * 0.1)
    for shapes in ([BOX], [hull, pw.Cylinder(0.2, 0.1)], [pw.Plane(), BALL, hull]):
        C = slider()
        for k, shape in enumerate(shapes):
            C.add_frame(f"thing {k}", position=[1, 1, -1], shape=shape)
        solution = path(C, slices=4).solve(progress=False)
        assert solution.feasible and compiled()[before:] == []


@pytest.mark.slow
def test_what_is_prepared_also_searches_a_way_round_obstacles(compiled):
    def to_goal(C: pw.Config) -> pw.KOMO:
        komo = path(C, slices=16)
        komo.add_objective([1.0], FS.qItself, ["ball"], OT.eq, target=[1.0, 0.0])
        return komo

    pw.prepare(to_goal(slider([], "transXY")), bodies=4, progress=False)
    before = len(compiled())
    C = slider([], "transXY")
    C.joints.set_limits("ball", [[-2, -2], [2, 2]])
    C.add_frame("wall", position=[0.5, 0, 0], shape=pw.Box([0.02, 0.6, 0.6]))
    komo = to_goal(C)
    # From a path that is straight the solve begins with a search.
    komo.initialize(np.linspace(C.q, [1.0, 0.0], 17)[1:])
    solution = komo.solve(progress=False)
    assert solution.feasible and np.abs(solution.path[:, 1]).max() > 0.3
    assert compiled()[before:] == []

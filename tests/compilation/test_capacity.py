"""Classes of capacity: whatever has been compiled for, all pairs of a world fit in."""

import itertools

import numpy as np
import pytest

import posewise as pw
from posewise.compilation.capacity import (
    Capacity,
    capacity_at_hand,
    capacity_class,
    make_tables,
)
from posewise.features.pairs.tables import (
    MIN_NAMED_SIZE,
    MIN_WORLD_SIZE,
    table_of_frames,
)

BOX = pw.Box([0.1, 0.1, 0.1])
HULL = pw.Convex(np.random.default_rng(0).uniform(-0.1, 0.1, (12, 3)))


def scene(frames: int, shape: pw.Box | pw.Convex, parts: int) -> pw.Config:
    C = pw.Config()
    for k in range(frames):
        C.add_object(
            f"o{k}", parts=[(shape, [0.1 * n, 0, 0, 1, 0, 0, 0]) for n in range(parts)]
        )
    return C


SCENES = {
    "two boxes": (2, BOX, 1),
    "unions of boxes": (3, BOX, 4),
    "many boxes": (12, BOX, 1),
    "hulls": (4, HULL, 1),
    "unions of hulls": (2, HULL, 3),
}


@pytest.mark.sampled
@pytest.mark.parametrize("least", [MIN_NAMED_SIZE, MIN_WORLD_SIZE])
@pytest.mark.parametrize("rows", [False, True])
def test_all_pairs_fit_in_after_any_other_scene(least, rows):
    for names in itertools.permutations(SCENES, 2):
        key = object()
        for name in names:
            frames = scene(*SCENES[name]).frames
            bodies = [i for i, frame in enumerate(frames) if frame.geometries]
            pairs = np.array([*itertools.combinations(bodies, 2)])
            table = table_of_frames(frames, pairs, np.full(len(pairs), 0.01))
            types, params = table.arrays(key, least, has_exact_rows=rows)
            # Padding follows what is there, and never counts.
            n, m = len(table.ends), len(table.pairs.pair)
            np.testing.assert_array_equal(params["ends"][:n], table.ends)
            assert (params["margin"][:n] == 0.01).all()
            assert (params["margin"][n:] == -np.inf).all()
            np.testing.assert_array_equal(params["body_a"][:m], table.pairs.a)
            if types.has_unions:
                np.testing.assert_array_equal(params["end_row"][:m], table.pairs.pair)
            else:
                assert m == n


def test_numbers_of_bodies_and_pairs_have_classes_each():
    """A robot of many balls has many pairs of bodies, but few bodies."""
    C = pw.Config()
    for name in ("hand", "shelf"):
        balls = [(pw.Sphere(0.01), [0.1 * k, 0, 0, 1, 0, 0, 0]) for k in range(16)]
        C.add_object(name, parts=balls)
    table = table_of_frames(C.frames, np.array([[0, 1]]), np.array([0.01]))
    types, params = table.arrays(object(), MIN_WORLD_SIZE)
    sizes = [len(params[name]) for name in ("body_frame", "kind", "margin")]
    assert types.has_unions and sizes == [32, 512, 8]


def test_a_larger_capacity_serves_until_a_smaller_one_is_there():
    small, large = Capacity(frozenset({0}), (4,)), Capacity(frozenset({0, 1}), (16,))
    key = object()
    assert capacity_at_hand(key, large) == large
    assert capacity_at_hand(key, small) == large
    assert capacity_at_hand(key, Capacity(frozenset({2}), (4,))).kinds == {0, 1, 2}


def test_what_one_program_is_compiled_for_is_not_at_hand_for_another():
    small, large = Capacity(frozenset({0}), (4,)), Capacity(frozenset({0, 1}), (16,))
    key = object()
    path, pose = object(), object()
    make_tables(path, lambda: capacity_at_hand(key, large))
    assert make_tables(pose, lambda: capacity_at_hand(key, small)) == small
    assert make_tables(path, lambda: capacity_at_hand(key, small)) == large


def test_tables_of_the_same_worlds_grow_together():
    """A program for goals serves what the one for paths has served."""
    small, large = Capacity(frozenset({0}), (4,)), Capacity(frozenset({0, 1}), (16,))
    key, path, goal = object(), object(), object()

    def capacity(program: object, need: Capacity) -> Capacity:
        return make_tables(program, lambda: capacity_at_hand(key, need, True))

    assert capacity(goal, small) == small  # compiled before there was more
    assert capacity(path, large) == large
    assert capacity(goal, small) == small
    assert capacity(object(), small) == large


def test_all_tables_of_a_program_are_of_sizes_compiled_together():
    """Programs with many tables are few: those that were compiled before."""
    path = object()

    def counts_of(*counts: int) -> list[int]:
        needs = [Capacity(frozenset(), (count,)) for count in counts]
        tables = make_tables(
            path, lambda: [*map(capacity_at_hand, range(len(needs)), needs)]
        )
        return [capacity.counts[0] for capacity in tables]

    assert counts_of(4, 4) == [4, 4]
    assert counts_of(4, 16) == [4, 16]
    assert counts_of(16, 4) == [16, 16]  # as large as all that there has been
    assert counts_of(4, 4) == [4, 4]
    assert counts_of(4, 16) == [4, 16]
    assert counts_of(16, 16) == [16, 16]


def test_two_tables_of_one_name_have_one_size():
    path, counts = object(), (4, 16, 4)
    needs = [Capacity(frozenset(), (count,)) for count in counts]
    tables = make_tables(path, lambda: [capacity_at_hand("rows", n) for n in needs])
    assert [capacity.counts for capacity in tables] == [(16,)] * 3


@pytest.mark.parametrize("count, expected", [(0, 4), (4, 4), (5, 16), (17, 64)])
def test_counts_are_rounded_up_to_classes(count, expected):
    assert capacity_class(count, 4) == expected

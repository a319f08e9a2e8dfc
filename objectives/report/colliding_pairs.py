"""The pairs that violate an objective on collisions, by name.

The features are sums or rows without names, so that the pairs are measured again in
the world of the worst slice.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from posewise.features.collisions import required_distances
from posewise.features.table import FS
from posewise.robots.config import Config
from posewise.robots.errors import first_few

from ..chain.modes import original_name
from ..clearance.avoidance import CollisionAvoidance
from ..clearance.certificate import (
    Certificate,
    Shortfall,
    amount_of_required,
    millimetres,
)
from ..terms.objective_report import ObjectiveReport, violations

MAX_PAIRS = 3
"""Number of pairs that are named for each objective; more make reports longer."""
MAX_SLICES = 32
"""Number of slices whose pairs are measured for each objective; more take longer."""
COLLISION_SYMBOLS = (FS.accumulatedCollisions, FS.collisionRows)


def is_about_collisions(report: ObjectiveReport) -> bool:
    """Whether an objective demands that pairs of a world do not collide."""
    names = [symbol.name for symbol in COLLISION_SYMBOLS]
    feature = report.objective.feature
    is_in_slices = report.objective.fraction is None
    return feature.symbol.name in names and feature.order == 0 and is_in_slices


def colliding_pairs(
    reports: Iterable[ObjectiveReport], world_at: Callable[[int], Config]
) -> Iterator[str]:
    """Yield sentences for each objective on collisions: all pairs that violate it.

    The last one is about its worst slice; those before it are about pairs that violate
    it in other slices only, each in the worst of these.

    Args:
        reports: violated objectives.
        world_at: the world in a slice.
    """
    for report in filter(is_about_collisions, reports):
        if report.objective.fraction is not None:
            # `pairs_between_slices` is about these.
            continue
        name, worst = report.label, report.worst_slice
        hits = _hits(report, world_at(worst))
        at_worst = {(a, b) for a, b, _ in hits}
        elsewhere: dict[tuple[str, str], tuple[float, int]] = {}
        for t in _other_slices(report):
            for a, b, d in _hits(report, world_at(t)):
                if (a, b) not in at_worst:
                    nearest = elsewhere.get((a, b), (d, t))
                    elsewhere[a, b] = min(nearest, (d, t))
        if elsewhere:
            pairs = [
                f"{a!r} and {b!r} in slice {t} ({1e3 * d:.1f} mm)"
                for (a, b), (d, t) in sorted(
                    elsewhere.items(), key=lambda item: item[1]
                )
            ]
            yield f"{name}: also {first_few(pairs, ', ', MAX_PAIRS)}."
        if hits:
            pairs = [f"{a!r} and {b!r} ({1e3 * d:.1f} mm)" for a, b, d in hits]
            yield (
                f"{name}: nearest in slice {worst}:"
                f" {first_few(pairs, ', ', MAX_PAIRS)}; negative: they overlap."
            )


def _other_slices(report: ObjectiveReport) -> Sequence[int]:
    """Return violated slices but the worst, at most `MAX_SLICES`, worst first."""
    largest = violations(report.objective.type, report.values)
    order = np.argsort(-largest, kind="stable")
    slices = [report.objective.slices[k] for k in order if largest[k] > 0]
    return [t for t in slices if t != report.worst_slice][:MAX_SLICES]


def _hits(report: ObjectiveReport, C: Config) -> list[tuple[str, str, float]]:
    """Return the pairs of an objective that are nearer than its margin."""
    feature = report.objective.feature
    pairs, margins = required_distances(
        C, feature.symbol, feature.frames, feature.options
    )
    if not len(pairs):
        return []
    names = C.frame_names
    contacts = C.contacts(pairs, float(np.nextafter(margins.max(), np.inf)))
    return [
        (names[pairs[k, 0]], names[pairs[k, 1]], float(contact.distance))
        for k, contact in contacts.items()
        if contact.distance <= margins[k]
    ]


def pairs_between_slices(certificate: Certificate | None) -> Iterator[str]:
    """Yield a sentence on the pairs that come too near between slices, deepest first.

    Args:
        certificate: the check of the path; None: nothing is required there.
    """
    if certificate is None or certificate.is_kept:
        return
    deepest: dict[tuple[str, ...], Shortfall] = {}
    for short in sorted(certificate.shortfalls, key=lambda s: s.depth):
        deepest[tuple(map(original_name, short.frames))] = short
    parts = [
        f"{a!r} and {b!r} {millimetres(short.distance, short.required)[0]} mm,"
        f" {short.place}"
        for (a, b), short in reversed(deepest.items())
    ]
    yield (
        f"between slices: {first_few(parts, '; ', MAX_PAIRS)}; negative: they overlap."
    )


def nearest_of_path(certificate: Certificate | None) -> str:
    """Return a sentence on the pair of a path that misses its distance most, or none.

    Args:
        certificate: the check of the path; None: nothing is required there.
    """
    if certificate is None or certificate.is_kept:
        return ""
    short = max(certificate.shortfalls, key=lambda s: s.depth)
    a, b = map(original_name, short.frames)
    amount = amount_of_required(short.distance, short.required)
    return f" {a!r} and {b!r} come to {amount} {short.place}."


def nearest_in_slices(
    reports: Iterable[ObjectiveReport],
    world_at: Callable[[int], Config],
    avoidance: CollisionAvoidance,
) -> str:
    """Return a sentence on the pair that misses its distance most, or nothing.

    It is about the slice that violates avoidance most; see `nearest_of_path` where
    distances are kept between slices, too.

    Args:
        reports: violated objectives.
        world_at: the world in a slice.
        avoidance: the distances that are required.
    """
    in_avoidance = [r for r in reports if r.objective.is_avoidance]
    if not in_avoidance:
        return ""
    worst = max(in_avoidance, key=lambda r: r.violation)
    C, touching = world_at(worst.worst_slice), avoidance.touching([worst.worst_slice])
    hits = _hits(worst, C)
    if not hits:
        return ""
    pairs = np.array([[C.index(a), C.index(b)] for a, b, _ in hits])
    required = avoidance.required(C, pairs, touching)
    distances = np.array([distance for *_, distance in hits])
    k = int(np.argmax(required - distances))
    a, b, distance = hits[k]
    amount = amount_of_required(distance, float(required[k]))
    return f" {a!r} and {b!r} come to {amount} in slice {worst.worst_slice}."


def own_links_too_near(certificate: Certificate | None, C: Config) -> str:
    """Return a sentence on links of one robot that keep no margin, or nothing.

    Neighbours of many robots are nearer to each other than a margin to the world, in
    all configurations. It is about the nearest pair of the path that does not overlap.

    Args:
        certificate: the check of the path; None: nothing is required there.
        C: the world.
    """
    if certificate is None or certificate.is_kept:
        return ""
    for short in sorted(certificate.shortfalls, key=lambda s: -s.depth):
        a, b = map(original_name, short.frames)
        if short.distance <= 0 or not {a, b} <= {*C.frame_names}:
            continue
        if C.pairs.own_links(np.array([[C.index(a), C.index(b)]]))[0]:
            near, least = millimetres(short.distance, short.required)
            return (
                f" {a!r} and {b!r} are links of one robot and come to {near} mm on the"
                f" way to slice {short.segment}, but must keep {least} mm. Give such"
                " pairs a smaller margin, `self_margin` of avoid_collisions (in problem"
                " files too), or exclude this one by `ignore_collisions`."
            )
    return ""

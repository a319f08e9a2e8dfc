"""Predicates whose truth the tests choose: coordinates of a world of sliders."""

from dataclasses import dataclass

import numpy as np

import posewise as pw
from posewise import logic


def sliders(n: int, categories: dict[str, list[str]] | None = None) -> pw.Config:
    """A world of n coordinates, and objects without shapes."""
    C = pw.Config()
    for k in range(n):
        C.add_frame(f"slider{k}", joint="transX")
    for category, names in (categories or {}).items():
        for name in names:
            C.add_object(name, category=category)
    return C


@dataclass(frozen=True)
class Is(logic.Predicate):
    """Coordinate k is 1; names, where there are any, are only kept."""

    k: int
    names: tuple[str, ...] = ()

    def holds(self, C: pw.Config) -> bool:
        return bool(C.q[self.k] > 0.5)

    def explain(self, C: pw.Config) -> str:
        return f"Slider {self.k} is {C.q[self.k]:g}."


def random_formula(rng: np.random.Generator, n: int, depth: int) -> logic.Predicate:
    """A tree of all connectives over n leaves."""
    if depth == 0 or rng.random() < 0.15:
        return Is(int(rng.integers(n)))
    parts = [random_formula(rng, n, depth - 1) for _ in range(int(rng.integers(0, 4)))]
    kind = rng.integers(6)
    if kind == 0:
        return logic.And(*parts)
    if kind == 1:
        return logic.Or(*parts)
    if kind == 2:
        return logic.AtLeast(int(rng.integers(0, 5)), *parts)
    first, second = (random_formula(rng, n, depth - 1) for _ in range(2))
    if kind == 3:
        return logic.Implies(first, second)
    return logic.Not(first) if kind == 4 else first & ~second


def truth(formula: logic.Predicate, q) -> bool:
    """Its truth by definition, from the coordinates; independent of `holds`."""
    match formula:
        case Is(k):
            return bool(q[k] > 0.5)
        case logic.Not(part):
            return not truth(part, q)
        case logic.Implies(premise, conclusion):
            return truth(conclusion, q) if truth(premise, q) else True
    count = sum(truth(p, q) for p in formula.parts)
    match formula:
        case logic.And():
            return count == len(formula.parts)
        case logic.Or():
            return count > 0
        case logic.AtLeast():
            return count >= formula.n

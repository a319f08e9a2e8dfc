"""Problems of BDDL for tests: texts, and the definitions that are installed."""

from functools import cache

import pytest

from helpers.oracle import SHARED
from posewise import logic

PACKING = """
; what belongs where
(define (problem packing_0)
    (:domain igibson)
    (:requirements :strips :adl)
    (:objects
        Apple.n.01_1 apple.n.01_2 - apple.n.01
        box.n.01_1 box.n.01_2 - box.n.01
        table.n.02_1 - table.n.02
    )
    (:init
        (ontop apple.n.01_1 table.n.02_1)
        (not (inside apple.n.01_2 box.n.01_1))  ; not yet
        (not (cooked apple.n.01_2))
    )
    (:goal
        (and
            (forall (?a - apple.n.01) (exists (?b - box.n.01) (inside ?a ?b)))
            (FORPAIRS (?b - box.n.01) (?a - apple.n.01) (inside ?a ?b))
            (forn (1) (?a - apple.n.01) (cooked ?a))
            (imply (cooked ?apple.n.01_1) (not (ontop apple.n.01_1 table.n.02_1)))
        )
    )
)
"""


def problem(goal: str, init: str = "", objects: str = "a1 a2 a3 - a b1 b2 - b") -> str:
    """Return the text of a problem of three objects a and two objects b."""
    return (
        f"(define (problem p) (:domain d)\n(:objects {objects})\n(:init {init})\n"
        f"(:goal {goal}))"
    )


@cache
def definitions(step: int = 12) -> tuple[logic.bddl.Problem, ...]:
    """Return every `step`-th definition of the installed package and of shared data."""
    sources: list = sorted((SHARED / "oracle" / "bddl").glob("*/problem0.bddl"))
    try:
        sources += logic.bddl.activities()
    except ImportError:
        pass
    if not sources:
        pytest.skip("no definitions: neither bddl nor reference data is here")
    return tuple(logic.bddl.load(source) for source in sources[::step])

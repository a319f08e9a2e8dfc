"""Each mechanism that `benchmarks/ablation.py` leaves out changes what is solved."""

import importlib.util
import re
import sys
from functools import cache, partial
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from helpers.chain_problems import Circle

import posewise as pw
from posewise import FS, OT
from posewise.objectives.solve.settings import make_settings
from posewise.solvers import Options
from posewise.solvers.augmented_lagrangian import solve_from_start

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def load_ablation():
    spec = importlib.util.spec_from_file_location(
        "ablation", BENCHMARKS / "ablation.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


ablation = load_ablation()


def solver_program() -> str:
    """Text of the solver's program for a small problem, traced afresh."""
    solver = partial(solve_from_start, Circle(0.95))
    program = jax.make_jaxpr(solver)(jnp.ones(2), jnp.zeros((1, 2)), Options())
    return re.sub("0x[0-9a-f]+", "", str(program))  # addresses of functions


def path_options() -> Options:
    """Options with which a small path is solved."""
    komo = pw.KOMO(pw.load("planar3"), phases=1, slices_per_phase=8, k_order=2)
    komo.add_control_objective(order=2, scale=10)
    komo.add_objective([1.0], FS.position, ["tip"], OT.eq)
    return make_settings(komo.spec, 1e-3, False, {}).options


@cache
def solver_program_of_all() -> str:
    return solver_program()


def test_tracing_again_gives_the_same_program():
    assert solver_program() == solver_program_of_all()


@pytest.mark.parametrize("name", ablation.MECHANISMS)
def test_a_mechanism_left_out_changes_the_solve(name, monkeypatch):
    mechanism = ablation.MECHANISMS[name]
    is_option = mechanism.module is ablation.settings
    read, before = (
        (path_options, path_options())
        if is_option
        else (solver_program, solver_program_of_all())
    )
    monkeypatch.setattr(mechanism.module, mechanism.name, mechanism.value)
    assert read() != before


def test_a_name_that_has_moved_is_an_error():
    with pytest.raises(AttributeError, match="PATH_OPTIONS"):
        ablation.Replacement(ablation.schedule, "PATH_OPTIONS", {}).apply()

"""Programs loaded in a process are bounded, and the least recently used are dropped."""

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import posewise as pw
from posewise import FS
from posewise.compilation import cache_folder, loaded_programs, program_cache
from posewise.compilation.fingerprint import NotFingerprintable, fingerprint
from posewise.compilation.loaded_programs import JittedFunction, LoadedPrograms
from posewise.compilation.plain_jit import PlainJit, uses_plain_jit

without_plain_jit = pytest.mark.skipif(uses_plain_jit(), reason="no program cache")


@pytest.fixture
def loaded(monkeypatch) -> LoadedPrograms:
    """Loaded programs, two at most, apart from those of other tests."""
    store = LoadedPrograms()
    monkeypatch.setattr(loaded_programs, "MAX_LOADED_PROGRAMS", 2)
    for module in (loaded_programs, program_cache):
        monkeypatch.setattr(module, "LOADED_PROGRAMS", store)
    return store


@pytest.fixture
def folder(tmp_path):
    cache_folder.set_cache_dir(tmp_path)
    yield tmp_path
    cache_folder.set_cache_dir(None)


def scaled(factor: int):
    return jax.jit(lambda x: factor * x)


def cached(factor: int):
    return program_cache.load_or_compile(scaled(factor), f"times {factor}")


@without_plain_jit
def test_of_all_functions_the_programs_used_last_stay(loaded, folder):
    runs, x = [cached(k) for k in range(4)], np.arange(3.0)
    for k in (0, 1, 0, 2):  # 1 is then the least recently used
        np.testing.assert_array_equal(runs[k](x), k * x)
    assert [len(run.executables) for run in runs] == [1, 0, 1, 0]
    oldest = weakref.ref(next(iter(runs[0].executables.values())))
    runs[1](x)
    gc.collect()
    assert oldest() is None and len(loaded) == 2
    assert [len(run.executables) for run in runs] == [0, 1, 1, 0]
    assert [run.num_compilations() for run in runs] == [1, 2, 1, 0]
    for size in (1, 2, 3):  # shapes are programs of their function
        np.testing.assert_array_equal(runs[3](np.ones(size)), np.full(size, 3.0))
    assert [len(run.executables) for run in runs] == [0, 0, 0, 2]
    runs[3].drop()
    assert len(loaded) == 0 and not runs[3].executables


@without_plain_jit
def test_a_dropped_program_is_read_from_disk(loaded, folder):
    runs, x = [cached(k) for k in range(3)], np.arange(3.0)
    for k in (0, 1, 2):
        runs[k](x)
    # read, not compiled: this function computes something else
    runs[0].jitted = scaled(5)
    np.testing.assert_array_equal(runs[0](x), 0 * x)
    assert len(list(folder.iterdir())) == 3


@without_plain_jit
def test_a_program_that_another_has_replaced_is_not_dropped(loaded, folder):
    run, x = cached(2), np.arange(3.0)
    run(x)
    ((key, first),) = run.executables.items()
    second = run.executables[key] = run.jitted.lower(x).compile()
    run._drop(key, first)
    assert run.executables == {key: second}


@without_plain_jit
def test_programs_without_a_fingerprint_are_dropped_too(loaded, folder, monkeypatch):
    def identity_only(value):
        if isinstance(value, tuple):
            raise NotFingerprintable
        return fingerprint(value)

    monkeypatch.setattr(program_cache, "fingerprint", identity_only)
    runs, x = [cached(k) for k in range(3)], np.arange(3.0)
    for k in (0, 1, 2):
        np.testing.assert_array_equal(runs[k](x), k * x)
    assert [len(run.executables) for run in runs] == [0, 1, 1]
    assert not list(folder.iterdir())


def test_programs_of_jax_are_dropped_too(loaded, monkeypatch):
    runs, x = [JittedFunction(scaled(k)) for k in range(3)], jnp.arange(3.0)
    for k in (0, 1, 0, 2, 2):
        np.testing.assert_array_equal(runs[k](x), k * x)
    assert [run.jitted._cache_size() for run in runs] == [1, 0, 1]
    assert [run.num_compilations() for run in runs] == [1, 1, 1]
    monkeypatch.setattr(loaded_programs, "MAX_JITTED_SHAPES", 2)
    for size in range(1, 6):
        np.testing.assert_array_equal(runs[1](jnp.ones(size)), np.ones(size))
        assert runs[1].jitted._cache_size() <= 3
    assert runs[1].num_compilations() == 6


def test_of_a_function_the_structures_used_last_stay(loaded, monkeypatch):
    monkeypatch.setattr(loaded_programs, "MAX_PROGRAMS", 2)
    run = PlainJit(lambda k, x: k * x, 1, lambda run, k: run, True)
    x = np.arange(3.0)
    for k in (1, 2, 1, 3, 1):
        np.testing.assert_array_equal(run(k, x), k * x)
    assert list(run.programs.by_static) == [(3,), (1,)]
    assert run.num_compilations() == 3 and len(loaded) == 2


def test_features_of_many_symbols_are_bounded(loaded):
    C = pw.load("planar3")
    symbols = [FS.position, FS.vectorX, FS.vectorY, FS.vectorZ]
    first = [pw.Feature(s, ["tip"]).eval(C) for s in symbols]
    assert len(loaded) <= 2
    second = [pw.Feature(s, ["tip"]).eval(C) for s in symbols]
    for (y, J), (again, J_again) in zip(first, second, strict=True):
        np.testing.assert_array_equal(y, again)
        np.testing.assert_array_equal(J, J_again)

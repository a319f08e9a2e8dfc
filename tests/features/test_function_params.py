"""Features of functions with params: data of programs, and derivatives by them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import posewise as pw
from posewise import FS
from posewise.features.bound_feature import compiled_linearization
from posewise.features.errors import FeatureError


def network(tip, weights):
    hidden = jnp.tanh(weights["in"] @ tip.p + weights["bias"][0])
    return weights["out"] @ hidden


def weights(seed: int) -> dict:
    rng = np.random.default_rng(seed)
    bias = [rng.normal(size=5), rng.integers(3, size=2)]
    return {"in": rng.normal(size=(5, 3)), "bias": bias, "out": rng.normal(size=(2, 5))}


def arm() -> pw.Config:
    C = pw.Config()
    C.add_frame("a", joint="hingeY", q=[0.3])
    C.add_frame("b", "a", position=[0.5, 0, 0], joint="hingeZ", q=[-0.4])
    C.add_frame("tip", "b", position=[0.4, 0.1, 0])
    return C


def by_hand(C: pw.Config, w: dict) -> np.ndarray:
    hidden = np.tanh(w["in"] @ C.pose("tip")[:3] + w["bias"][0])
    return w["out"] @ hidden


@pytest.mark.long
def test_values_are_those_of_the_params():
    C, feature = arm(), pw.Feature(network, ["tip"], params=weights(0))
    feature.eval(C)
    program = compiled_linearization(feature.bind(C).symbol, 0)
    count = program.num_compilations()
    for seed in range(4):
        other = feature.with_params(weights(seed))
        y, J = other.eval(C)
        np.testing.assert_allclose(y, by_hand(C, weights(seed)), rtol=1e-12)
        slope = jax.jacfwd(feature.function(C))(C.q, weights(seed))
        np.testing.assert_allclose(J, slope, atol=1e-12)
    assert program.num_compilations() == count
    np.testing.assert_array_equal(other.params["out"], weights(3)["out"])
    np.testing.assert_allclose(feature.eval(C)[0], by_hand(C, weights(0)), rtol=1e-12)


def test_functions_are_differentiable_by_the_params():
    C, w = arm(), weights(0)
    fn = pw.Feature(network, ["tip"], params=w).function(C)
    loss = jax.jit(lambda w, q: jnp.sum(fn(q, w) ** 2))
    slope = jax.grad(loss, allow_int=True)(w, C.q)
    rng, step = np.random.default_rng(1), 1e-6
    for name in ("in", "out"):
        direction = rng.normal(size=w[name].shape)
        up, down = ({**w, name: w[name] + k * step * direction} for k in (1, -1))
        difference = (loss(up, C.q) - loss(down, C.q)) / (2 * step)
        by_slope = np.sum(slope[name] * direction)
        np.testing.assert_allclose(by_slope, difference, rtol=1e-6)
    batch = jax.tree.map(lambda *a: np.stack(a), *map(weights, range(3)))
    rows = jax.vmap(fn, (None, 0))(C.q, batch)
    np.testing.assert_allclose(rows, [by_hand(C, weights(k)) for k in range(3)])


def test_params_have_the_precision_of_the_process():
    C, w = arm(), weights(0)
    fn = pw.Feature(network, ["tip"], params=w).function(C)
    rows = fn(np.float32(C.q), jax.tree.map(np.float32, w))
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, by_hand(C, w), rtol=1e-5)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "no arrays"),
        ({"in": np.nan}, r"params\['in'\] is float64 nan, expected finite"),
        ({"in": "text"}, "expected finite numbers"),
        ([1.0, 1j], r"params\[1\] is complex128"),
    ],
)
def test_params_that_are_no_numbers(params, message):
    with pytest.raises(FeatureError, match=message):
        pw.Feature(network, ["tip"], params=params)


def test_params_that_do_not_fit():
    feature = pw.Feature(network, ["tip"], params=weights(0))
    with pytest.raises(FeatureError, match="expected PyTreeDef"):
        feature.with_params(weights(0)["in"])
    wide = {**weights(0), "out": np.ones((2, 6))}
    with pytest.raises(FeatureError, match=r"shape \(2, 6\), expected \(2, 5\)"):
        feature.with_params(wide)
    with pytest.raises(FeatureError, match=r"shape \(2, 6\), expected \(2, 5\)"):
        feature.function(arm())(arm().q, wide)
    with pytest.raises(FeatureError, match="position takes no params"):
        pw.Feature(FS.position, ["tip"], params=1.0)
    with pytest.raises(FeatureError, match="has no params"):
        pw.Feature(FS.position, ["tip"]).with_params(1.0)
    with pytest.raises(FeatureError, match="traced by JAX"):
        jax.jit(lambda w: feature.with_params({**weights(0), "out": w}).params["out"])(
            np.ones((2, 5))
        )

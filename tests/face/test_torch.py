"""`posewise.torch` beside JAX: values, gradients, statuses, dtypes and bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.planar_arm import planar

import posewise as pw
from posewise import FS, Status, logic

torch = pytest.importorskip("torch", reason="needs the extra `torch`")
import posewise.torch as bridge  # noqa: E402

ARM = planar()
GOOD, NEAR, FAR = [0.7, 0.6], [0.71, 0.59], [5.0, 0.0]
UNKNOWN = [np.nan, 0.0]


def table() -> pw.Config:
    C = pw.Config()
    C.add_frame("table", position=[0, 0, 0.4], shape=pw.Box([0.6, 0.4, 0.04]))
    C.add_frame("mug", joint="free", shape=pw.Cylinder(0.1, 0.04))
    return C


def mug_poses(count: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    positions = rng.uniform([-0.4, -0.3, 0.3], [0.4, 0.3, 0.8], (count, 3))
    return np.concatenate([positions, rng.normal(size=(count, 4))], -1)


FEATURES = {
    "position": (FS.position, ["tip"], {}),
    "orientation": (FS.quaternion, ["tip"], {}),
    "velocity": (FS.position, ["tip"], {"order": 1, "scale": [2.0, 1.0, 0.5]}),
    "distance": (FS.distance, ["link2", "post"], {}),
    "joints": (FS.qItself, [], {"target": [0.1, 0.2, 0.3, 0.4]}),
}


def feature_of(case: str) -> pw.Feature:
    symbol, frames, options = FEATURES[case]
    return pw.Feature(symbol, frames, **options)


def function_of(case: str):
    return bridge.feature_function(feature_of(case), ARM)


@pytest.mark.parametrize("case", FEATURES)
def test_features_are_those_of_jax(case):
    feature = feature_of(case)
    item = (2, ARM.nq) if feature.order else (ARM.nq,)
    f = function_of(case)
    x = np.random.default_rng(1).uniform(-1, 1, (2, 3, *item))
    q = torch.tensor(x, requires_grad=True)
    y = f(q)
    weight = np.random.default_rng(2).normal(size=y.shape)
    (y * torch.tensor(weight)).sum().backward()
    for k in np.ndindex(2, 3):
        want, J = feature.eval(ARM, x[k])
        np.testing.assert_allclose(y[k].detach(), want, atol=1e-12)
        slope = np.tensordot(weight[k], J, 1)
        np.testing.assert_allclose(q.grad[k], slope, atol=1e-9)


def test_rows_of_predicates_are_those_of_jax():
    C, on = table(), logic.OnTopOf("mug", "table")
    f = bridge.predicate_function(on, C)
    x = mug_poses(5)
    q = torch.tensor(x, requires_grad=True)
    rows = f(q)
    rows.relu().sum().backward()
    loss = jax.vmap(lambda q: jnp.sum(jax.nn.relu(on.function(C)(q))))
    want = jax.grad(lambda x: jnp.sum(loss(x)))(x)
    np.testing.assert_allclose(q.grad, want, atol=1e-12)
    assert np.abs(want).max() > 0.1
    for pose, violation in zip(x, rows.amax(-1).tolist(), strict=True):
        C.set_joint("mug", pose)
        assert violation == pytest.approx(on.violation(C), abs=1e-9)


@pytest.fixture(scope="module")
def reach():
    komo = pw.KOMO(ARM)
    komo.add_control_objective(0, 0.3)
    plane = [[1.0, 0, 0], [0, 1, 0]]
    tip = komo.add_objective([], FS.position, ["tip"], scale=plane, target=[*GOOD, 0])
    return komo.function(tip, with_status=True), bridge.path_function(komo, tip)


def targets(*rows: list[float]) -> np.ndarray:
    return np.pad(np.array(rows), ((0, 0), (0, 1)))


def test_targets_out_of_reach_have_a_status_and_no_gradient(reach):
    """The gradient of shared parameters is that of the targets within reach."""
    in_jax, f = reach
    batch = targets(GOOD, FAR, UNKNOWN, NEAR)
    shift = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    z = torch.tensor(batch, requires_grad=True)
    paths, status = f(z + shift)
    want = [Status.CONVERGED, Status.INFEASIBLE, Status.BAD_INPUT, Status.CONVERGED]
    assert status.tolist() == want and not status.requires_grad
    assert not status.is_floating_point()
    assert paths.isfinite().all()
    # even a loss without a mask
    (paths**2).sum().backward()
    assert (z.grad[1:3] == 0).all()

    def loss(t):
        return jnp.sum(in_jax(t)[0] ** 2)

    for k in (0, 3):
        np.testing.assert_allclose(paths[k].detach(), in_jax(batch[k])[0], atol=1e-9)
        slope = jax.grad(loss)(batch[k])
        assert np.abs(slope).max() > 0.1
        np.testing.assert_allclose(z.grad[k], slope, atol=1e-9)
    np.testing.assert_allclose(shift.grad, z.grad.sum(0), atol=1e-12)


def test_values_of_several_quantities_are_one_row():
    komo = pw.KOMO(ARM)
    home = komo.add_control_objective(0, 0.3)
    tip = komo.add_objective([], FS.position, ["tip"], pw.OT.sos, target=[*GOOD, 0])
    wrt = [tip, ("scale", home)]
    in_jax, f = komo.function(wrt), bridge.path_function(komo, wrt)
    batch = np.column_stack([targets(GOOD, NEAR), [0.3, 0.5]])
    rows = torch.tensor(batch, requires_grad=True)
    paths, status = f(rows)
    assert (status == Status.CONVERGED).all()
    (paths**2).sum().backward()
    for k, row in enumerate(batch):
        np.testing.assert_allclose(
            paths[k].detach(), in_jax([row[:3], row[3]]), atol=1e-9
        )
        slope = jax.grad(lambda x: jnp.sum(in_jax([x[:3], x[3]]) ** 2))(row)
        assert np.abs(slope[3]) > 1e-3
        np.testing.assert_allclose(rows.grad[k], slope, atol=1e-9)
    with pytest.raises(pw.FeatureError, match=r"values has shape \(3,\).*\(…, 4\)"):
        f(rows[0, :3])


def test_gradients_are_finite_differences(reach):
    """By PyTorch's own check, in float64."""
    on = bridge.predicate_function(logic.OnTopOf("mug", "table"), table())
    cases = (
        (function_of("distance"), [[0.3, -0.2, 0.4, 0.7]]),
        (function_of("velocity"), [[[0.3, 0, 0.4, 0.7], [0.1] * 4]]),
        (on, mug_poses(1)),
        (lambda t: reach[1](t)[0], targets(GOOD)),
    )
    for f, x in cases:
        x = torch.tensor(np.array(x), requires_grad=True)
        assert torch.autograd.gradcheck(f, x, atol=1e-5)


@pytest.mark.parametrize("batch", [(), (0,), (1,), (2, 3), (2, 0)])
def test_any_number_of_batch_axes(reach, batch):
    q = torch.zeros((*batch, 4), dtype=torch.float64, requires_grad=True)
    y = function_of("position")(q)
    assert y.shape == (*batch, 3)
    y.sum().backward()
    assert q.grad.shape == q.shape
    goals = torch.tensor(np.broadcast_to(targets(GOOD)[0], (*batch, 3)).copy())
    goals.requires_grad_()
    paths, status = reach[1](goals)
    assert paths.shape == (*batch, 1, 4) and status.shape == batch
    paths.sum().backward()
    assert goals.grad.shape == goals.shape
    assert (status == Status.CONVERGED).all()


def test_layouts_of_memory():
    f = function_of("position")
    base = torch.linspace(-1, 1, 41, dtype=torch.float64)
    views = {
        "not aligned": base[1:9].reshape(2, 4),
        "transposed": base[:8].reshape(4, 2).T,
        "every second": base[:16].reshape(2, 8)[:, ::2],
        "expanded": base[:4].expand(3, 4),
        "reversed": base[:8].flip(0).reshape(2, 4),
    }
    for name, view in views.items():
        want = f(view.clone())
        np.testing.assert_array_equal(f(view), want, err_msg=name)
        x = base.clone().requires_grad_()
        same = torch.as_strided(x, view.shape, view.stride(), view.storage_offset())
        if name == "reversed":
            same = x[:8].flip(0).reshape(2, 4)
        (slope,) = torch.autograd.grad(f(same).sum(), x)
        leaf = same.detach().clone().requires_grad_()
        (leaf_slope,) = torch.autograd.grad(f(leaf).sum(), leaf)
        assert slope.sum() == pytest.approx(float(leaf_slope.sum()))
    assert (base == torch.linspace(-1, 1, 41, dtype=torch.float64)).all()


def test_float32_stays_float32(reach):
    wide = torch.tensor(targets(GOOD, NEAR), requires_grad=True)
    narrow = wide.detach().float().requires_grad_()
    for x in (wide, narrow):
        paths, _ = reach[1](x)
        assert paths.dtype == x.dtype
        paths.sum().backward()
    assert narrow.grad.dtype == torch.float32
    np.testing.assert_allclose(narrow.grad, wide.grad, atol=1e-5)
    q = torch.ones(4, requires_grad=True)
    y = function_of("position")(q)
    assert y.dtype == torch.float32


ONES = torch.ones(4, dtype=torch.float64)
BAD_INPUT = {
    "an array": (np.ones(4), r"q is of type ndarray, expected a torch\.Tensor"),
    "a list": ([1.0] * 4, "q is of type list"),
    "integers": (torch.ones(4, dtype=torch.int64), r"torch\.int64.*q\.float\(\)"),
    "booleans": (torch.ones(4, dtype=torch.bool), r"torch\.bool"),
    "half": (ONES.half(), r"torch\.float16.*expected torch\.float32"),
    "complex": (ONES.to(torch.complex128), r"torch\.complex128"),
    "sparse": (ONES.to_sparse(), "dense"),
    "a number": (ONES[0], r"shape \(\), expected \(…, 4\)"),
    "too few": (torch.ones(2, 3), r"shape \(2, 3\), expected \(…, 4\)"),
    "no memory": (torch.ones(4, device="meta"), "device meta.*JAX cannot read"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_a_sentence(case):
    x, message = BAD_INPUT[case]
    with pytest.raises(pw.FeatureError, match=message):
        function_of("joints")(x)


def test_other_mistakes_are_sentences(reach):
    with pytest.raises(pw.FeatureError, match=r"targets has shape \(3, 2\).*\(…, 3\)"):
        reach[1](torch.zeros(3, 2))
    with pytest.raises(pw.FeatureError, match=r"\(4,\), expected \(…, 2, 4\)"):
        function_of("velocity")(ONES)
    f = function_of("joints")
    with (
        jax.enable_x64(False),
        pytest.raises(pw.FeatureError, match="round.*jax_enable_x64"),
    ):
        f(ONES)
    komo, another = pw.KOMO(ARM), pw.KOMO(ARM)
    komo.add_objective([], FS.position, ["tip"])
    with pytest.raises(pw.ObjectiveError, match="wrt is .*this problem's"):
        bridge.path_function(komo, another.add_objective([], FS.position, ["tip"]))
    with pytest.raises(logic.PredicateError, match="no rows"):
        bridge.predicate_function(logic.Cooked("mug"), table())


def test_second_derivatives_are_an_error():
    f = function_of("position")
    q = ONES.clone().requires_grad_()
    # x³ has a second derivative; without the error, f's part of it would be missing
    (slope,) = torch.autograd.grad((f(q).sum() + (q**3).sum()), q, create_graph=True)
    with pytest.raises(RuntimeError, match="first derivatives only.*jax.hessian"):
        slope.sum().backward()


def test_memory_is_not_shared_with_the_caller():
    f = function_of("joints")
    q = ONES.clone().requires_grad_()
    y = f(q * 1.0)
    want = torch.autograd.grad(y.sum(), q, retain_graph=True)[0]
    with torch.no_grad():
        y.zero_()
    np.testing.assert_array_equal(torch.autograd.grad(f(q).sum(), q)[0], want)
    doubled = 2 * q
    z = f(doubled)
    doubled.detach().zero_()
    with pytest.raises(RuntimeError, match="inplace"):
        z.sum().backward()


def test_no_graph_without_gradients(reach):
    q = ONES.clone().requires_grad_()
    f = function_of("joints")
    with torch.no_grad():
        assert not f(q).requires_grad
    assert not f(ONES).requires_grad
    paths, status = reach[1](torch.tensor(targets(GOOD)))
    assert not paths.requires_grad and status.tolist() == [Status.CONVERGED]


def test_batches_of_all_sizes_trace_a_function_once():
    traced = []

    def height(pose):
        traced.append(pose)
        return pose.p[:1]

    f = bridge.feature_function(pw.Feature(height, ["tip"]), ARM)
    counts = []
    for size in (3, 3, 3, 5):
        q = torch.rand((size, 4), dtype=torch.float64, requires_grad=True)
        f(q).sum().backward()
        counts.append(len(traced))
    assert counts[0] == counts[3]


@pytest.mark.slow
def test_a_network_learns_through_solves(reach):
    """Inverse kinematics as a layer; at first half of the targets are out of reach."""
    torch.manual_seed(0)
    inputs = torch.rand(16, 2, dtype=torch.float64)
    goals_of_inputs = torch.tensor([0.2, 0.4, 0.5]) + 0.2 * inputs[:, :1]
    network = torch.nn.Linear(2, 2).double()
    with torch.no_grad():
        network.bias += 1.0
    optimizer = torch.optim.Adam(network.parameters(), 0.02)
    history = []
    for _ in range(60):
        goals = torch.nn.functional.pad(network(inputs), (0, 1))
        paths, status = reach[1](goals)
        solved = status == Status.CONVERGED
        error = ((paths[:, 0, :3] - goals_of_inputs) ** 2).sum(-1)
        loss = torch.where(solved, error, 4 + (goals**2).sum(-1)).mean()
        optimizer.zero_grad()
        loss.backward()
        assert all(p.grad.isfinite().all() for p in network.parameters())
        optimizer.step()
        history.append((loss.item(), int(solved.sum())))
    assert history[0][1] < 16 == history[-1][1]
    assert history[-1][0] < 0.1 * history[0][0]

"""Laws of external forces against rostok's own values, repairs against hand work."""

import numpy as np
import pytest
from helpers.rostok_cases import hand_trace, recorded_cases, squeeze

from posewise.logic import rostok

GRAVITY = [0, -10, 0]
LAWS = {
    "YaxisSin": lambda: rostok.YaxisSin(start_time=0.2, legacy=True),
    "NullGravity": lambda: rostok.NullGravity(0.25, GRAVITY, 0.2),
    "ClockXZ": lambda: rostok.ClockXZForces(
        2, width_step=2, start_time=0.2, legacy=True
    ),
    "Random3d": lambda: rostok.RandomForces(10, 2, 0.2, seed=3, legacy=True),
    "External_sum": lambda: rostok.ExternalForces(
        [rostok.YaxisSin(start_time=0.2), rostok.NullGravity(0.25, GRAVITY)]
    ),
}
CASES = (
    "YaxisSin",
    "YaxisSin_event",
    "YaxisSin_event_use_time",
    "NullGravity",
    "NullGravity_event",
    "ClockXZ",
    "Random3d",
    "External_sum",
)


def along(law, times, happens=np.inf, event=None) -> np.ndarray:
    """Forces at times; a bound event happens at one of them."""
    forces = []
    for t in times:
        if event is not None:
            event.state = t >= happens
        wrench = law.calculate_spatial_force(t)
        assert wrench.shape == (6,) and not wrench[:3].any()
        forces.append(wrench[3:])
    return np.array(forces)


@pytest.fixture(scope="module")
def known() -> dict:
    return {c["name"]: c for c in recorded_cases()["external_force_cases"]}


def test_every_reference_case_is_asked(known):
    assert sorted(known) == sorted(CASES)


@pytest.mark.parametrize("name", CASES)
def test_legacy_is_rostok(known, name):
    case, event = known[name], None
    law = LAWS[name.split("_event")[0]]()
    if case["event"] is not None:
        event = rostok.EventContact()
        law.set_activation_by_event(event, use_time=case["event"] == "use_time")
    forces = along(law, case["times"], 0.5, event)
    want = np.array(case["values"], float)[:, 3:]
    np.testing.assert_allclose(forces, want, atol=1e-9)


def test_a_sine_begins_when_its_event_happens():
    event = rostok.EventContact()
    law = rostok.YaxisSin(2.0, 0.5, 3.0)
    law.set_activation_by_event(event)
    times = np.linspace(0, 2, 21)
    want = np.where(times >= 0.7, 2 * np.sin(3 * (times - 0.7)) + 0.5, 0)
    for _ in range(2):
        forces = along(law, times, 0.7, event)
        np.testing.assert_allclose(forces[:, 1], want, atol=1e-12)
        assert not forces[:, [0, 2]].any()
        law.reset()


def test_time_or_event_whichever_is_first():
    for happens, begins in ((0.3, 0.3), (1.5, 1.0)):
        event = rostok.EventContact()
        law = rostok.YaxisSin(start_time=0.95)
        law.set_activation_by_event(event, use_time=True)
        times = np.linspace(0, 2, 21)
        force = along(law, times, happens, event)[:, 1]
        assert np.array_equal(force != 0, times >= begins)
        since = min(happens, 0.95)
        np.testing.assert_allclose(force[-1], 5 * np.sin(5 * (2 - since)) + 1)


def test_a_clock_turns_in_its_plane():
    law = rostok.ClockXZForces(2.0, np.pi / 3, 4, start_time=0.5)
    force = along(law, np.arange(20) / 10)
    assert not force[:5].any() and not force[:, 1].any()
    for k in range(5, 20):
        angle = np.pi / 3 * (1 + (k - 5) // 4)
        want = [2 * np.cos(angle), 0, 2 * np.sin(angle)]
        np.testing.assert_allclose(force[k], want, atol=1e-12)


@pytest.mark.parametrize("dimension", ["3d", "2d"])
def test_random_forces_are_held_uniform_and_repeatable(dimension):
    law = rostok.RandomForces(3.0, 2, dimension=dimension, angle=0.4, seed=1)
    first = along(law, np.arange(1000))
    law.reset()
    assert np.array_equal(along(law, np.arange(1000)), first)
    other = rostok.RandomForces(3.0, 2, dimension=dimension, angle=0.4, seed=2)
    assert not np.array_equal(along(other, np.arange(1000)), first)
    blocks = first.reshape(500, 2, 3)
    assert (blocks == blocks[:, :1]).all()
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 3.0)
    directions = blocks[:, 0] / 3
    assert np.abs(directions.mean(0)).max() < 0.08
    if dimension == "3d":
        np.testing.assert_allclose((directions**2).mean(0), 1 / 3, atol=0.04)
    else:
        normal = np.array([-np.sin(0.4), np.cos(0.4), 0])
        np.testing.assert_allclose(directions @ normal, 0, atol=1e-12)
        assert np.mean(directions[:, 2] ** 2) == pytest.approx(0.5, abs=0.05)


def test_laws_of_ones_own_add_up_and_are_bound_together():
    class Twist(rostok.ForceTemplate):
        def active_wrench(self, time):
            return np.array([0, 0, time, 0, 0, 0.0])

    sum_ = rostok.ExternalForces([rostok.NullGravity(2.0)])
    sum_.add_force(Twist())
    np.testing.assert_allclose(
        sum_.calculate_spatial_force(0.5), [0, 0, 0.5, 0, 19.62, 0]
    )
    event = rostok.EventContact()
    sum_.set_activation_by_event(event)
    assert not sum_.calculate_spatial_force(1.0).any()
    event.state = True
    assert sum_.calculate_spatial_force(1.0)[2] == 1.0


def test_the_force_test_of_a_grasp():
    """Bound to the grasp of a run, and started by its result: the same forces."""
    trace = rostok.Trace(**hand_trace(contacts=squeeze(range(5, 61))))
    contact = rostok.EventContact()
    grasp = rostok.EventGrasp(1.0, contact)
    law = rostok.YaxisSin()
    law.set_activation_by_event(grasp)
    result = rostok.run_events(trace, [contact, grasp])
    assert result.activation_time == 0.13
    law.calculate_spatial_force(result.activation_time)
    again = rostok.YaxisSin(start_time=result.activation_time)
    for t in (0.2, 0.4):
        np.testing.assert_allclose(
            law.calculate_spatial_force(t), again.calculate_spatial_force(t)
        )


BAD = {
    "start_time is -1, expected >= 0": lambda: rostok.YaxisSin(start_time=-1),
    "YaxisSin: amp is 'x'": lambda: rostok.YaxisSin("x"),
    "freq is nan": lambda: rostok.YaxisSin(freq=np.nan),
    "mass is 0, expected > 0 kg": lambda: rostok.NullGravity(0),
    "gravity is 9.81, expected three": lambda: rostok.NullGravity(1, 9.81),
    "width_step is 0, expected an integer > 0": lambda: rostok.RandomForces(1, 0),
    "width_step is 1.5": lambda: rostok.ClockXZForces(1, width_step=1.5),
    "dimension is '4d', expected '3d' or '2d'": lambda: rostok.RandomForces(
        1, dimension="4d"
    ),
    "seed is -1": lambda: rostok.RandomForces(1, seed=-1),
    "expected its ForceTemplate": lambda: rostok.ExternalForces([3]),
    "expected its SimulationSingleEvent": lambda: (
        rostok.YaxisSin().set_activation_by_event("grasp")
    ),
    "time is nan": lambda: rostok.YaxisSin().calculate_spatial_force(np.nan),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_explained(message):
    with pytest.raises(rostok.EventError, match=message):
        BAD[message]()

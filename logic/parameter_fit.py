"""Parameters of predicates from examples: how near is "next to" in these scenes?"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from numbers import Real
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.errors import ProblemWarning, unknown_name
from posewise.robots.typing import Array

from .errors import PredicateError
from .formulas.formula import Formula
from .formulas.predicate import Predicate

MarginFunction: TypeAlias = Callable[
    [Float[np.ndarray, " p"]], Float[np.ndarray, " scenes"]
]
"""Returns the margins in all scenes for logarithms of parameters."""
NOT_FITTED = ("bound", "tolerance")
"""Numbers of predicates that do not change their meaning."""
DIFFERENCE_STEP = 1e-3
"""Step of central differences, as a fraction of a parameter [1]; larger ones see more
of the kinks of the rows."""
SOFTNESS_FACTORS = (1.0, 0.3, 0.1, 0.03, 0.01)
"""Widths of the logistic function, one after the other, as fractions of the median
margin [1]. The last decides how far only the scenes nearest to the threshold count."""
MAX_ROUNDS = 3
"""Largest number of linearizations for each width; more fit margins better that are far
from linear, and take longer."""
MAX_HALVINGS = 4
"""Largest number of attempts with half the step; after more of them the fit of a width
ends later."""
MAX_NEWTON_STEPS = 30
"""Number of Newton steps of a regression on a linearization; more than needed take
longer only."""
CONVERGED_STEP = 1e-3
"""Largest step of the logarithm of a parameter [1] after which no linearization
follows; a smaller one fits to more digits."""
MAX_LOG_STEP = 0.7
"""Largest step of the logarithm of a parameter [1]; a larger one trusts linearizations
farther away."""


@dataclass(frozen=True, eq=False)
class ParameterFit:
    """Result of `fit`."""

    predicate: Predicate
    """The predicate with the fitted parameters."""
    parameters: dict[str, float]
    """The fitted parameters by name."""
    margins: Float[np.ndarray, " scenes"]
    """By how much the fitted predicate holds, negative where it does not [m, or 1]."""
    mistakes: tuple[int, ...]
    """Scenes whose label differs from the exact check of the fitted predicate."""

    def __str__(self) -> str:
        values = ", ".join(f"{k} = {v:.4g}" for k, v in self.parameters.items())
        right = len(self.margins) - len(self.mistakes)
        return f"{values}: right in {right} of {len(self.margins)} scenes"


def fit(
    predicate: Predicate,
    scenes: Sequence[Config],
    labels: Sequence[bool] | Bool[Array, " scenes"],
    parameters: Sequence[str] | None = None,
) -> ParameterFit:
    """Fit the numbers of a predicate to scenes in which people say whether it holds.

    A logistic regression on the margin m = (violation(~p) - violation(p)) / 2 over the
    logarithms of the parameters; derivatives are central differences of the smooth
    violations. The width of the logistic function is reduced step by step, so that
    finally the scenes nearest to the threshold decide.

        fitted = logic.fit(logic.NextTo("mug", "bowl"), scenes, labels)
        fitted.predicate.holds(C)

    Args:
        predicate: with names of objects that are in every scene.
        scenes: the worlds.
        labels: for each scene, whether the predicate holds in it.
        parameters: the positive numbers to fit; None: all that the predicate has but
            `bound`, e.g. `nearness` of NextTo, `reach` of InReachOfAgent, `tilt` of
            Upright.

    Warns:
        ProblemWarning: when the fit is no better than the same answer for all scenes.

    Raises:
        PredicateError: for a formula, parameters that it does not have, labels that do
            not fit the scenes or are all the same, and a predicate without rows.
    """
    truth = _checked_labels(scenes, labels)
    names = _checked_parameters(predicate, parameters)
    log = np.log([float(getattr(predicate, name)) for name in names])

    def with_values(log: Float[np.ndarray, " p"]) -> Predicate:
        values = dict(zip(names, np.exp(log).tolist(), strict=True))
        return replace(predicate, **values)  # type: ignore[type-var]

    def margins(log: Float[np.ndarray, " p"]) -> Float[np.ndarray, " n"]:
        p = with_values(log)
        return np.array([((~p).violation(C) - p.violation(C)) / 2 for C in scenes])

    sign = np.where(truth, 1.0, -1.0)
    scale = max(float(np.median(np.abs(margins(log)))), 1e-6)
    for factor in SOFTNESS_FACTORS:
        log = _minimize(margins, log, sign, factor * scale)
    fitted = with_values(log)
    verdicts = np.array([fitted.holds(C) for C in scenes])
    values = dict(zip(names, np.exp(log).tolist(), strict=True))
    mistakes = tuple(np.flatnonzero(verdicts != truth).tolist())
    if len(mistakes) >= min(truth.sum(), (~truth).sum()):
        warnings.warn(
            f"The fitted {predicate!r} is wrong in {len(mistakes)} of {len(truth)}"
            " scenes, no better than the same answer for all of them. Check that the"
            " scenes are different worlds (C.copy()) and that the labels belong to"
            " them; perhaps this predicate cannot tell them apart.",
            ProblemWarning,
            stacklevel=2,
        )
    return ParameterFit(fitted, values, margins(log), mistakes)


def _minimize(
    margins: MarginFunction,
    log: Float[np.ndarray, " p"],
    sign: Float[np.ndarray, " n"],
    width: float,
) -> Float[np.ndarray, " p"]:
    """Minimise Σ log(1 + exp(-sign · margin / width)) over logarithms of parameters.

    Margins are expensive and nearly linear: each round is a logistic regression on
    their linearization, whose step is halved until the sum decreases.
    """
    m = margins(log)
    for _ in range(MAX_ROUNDS):
        shifts = DIFFERENCE_STEP * np.eye(len(log))
        slopes = [margins(log + shift) - margins(log - shift) for shift in shifts]
        J = np.array(slopes).T / (2 * DIFFERENCE_STEP)
        step = _logistic_step(m / width, J / width, sign)
        for _ in range(MAX_HALVINGS):
            try:
                new = margins(log + step)
            except PredicateError:
                # The parameter has left the range that the predicate admits.
                new = np.full(len(m), np.nan)
            if _loss(new / width, sign) < _loss(m / width, sign):
                log, m = log + step, new
                break
            step = step / 2
        else:
            break
        if np.abs(step).max() < CONVERGED_STEP:
            break
    return log


def _loss(m: Float[np.ndarray, " n"], sign: Float[np.ndarray, " n"]) -> float:
    return float(np.logaddexp(0.0, -sign * m).sum())


def _logistic_step(
    m: Float[np.ndarray, " n"],
    J: Float[np.ndarray, "n p"],
    sign: Float[np.ndarray, " n"],
) -> Float[np.ndarray, " p"]:
    """Minimise the loss of margins m + J δ by damped Newton steps, for small δ."""
    step, damping = np.zeros(J.shape[1]), 1e-3
    for _ in range(MAX_NEWTON_STEPS):
        now = m + J @ step
        wrong = 1 / (1 + np.exp(np.clip(sign * now, -50, 50)))
        gradient = -(sign * wrong) @ J
        hessian = (J.T * (wrong * (1 - wrong))) @ J + damping * np.eye(len(step))
        new = step - np.linalg.solve(hessian, gradient)
        new = np.clip(new, -MAX_LOG_STEP, MAX_LOG_STEP)
        if _loss(m + J @ new, sign) < _loss(now, sign):
            step, damping = new, damping / 10
        else:
            damping *= 10
    return step


def _checked_labels(
    scenes: Sequence[Config], labels: Sequence[bool] | Bool[Array, " scenes"]
) -> Bool[np.ndarray, " scenes"]:
    if not isinstance(scenes, Sequence) or not len(scenes):
        raise PredicateError(
            f"fit: scenes is {scenes!r}, expected a list of worlds (Config)."
        )
    for k, scene in enumerate(scenes):
        if not isinstance(scene, Config):
            raise PredicateError(f"fit: scenes[{k}] is {scene!r}, expected a Config.")
    try:
        truth = np.asarray(labels)
        is_valid = truth.shape == (len(scenes),) and truth.dtype.kind in "biuf"
    except ValueError:  # ragged
        is_valid = False
    if not is_valid or not np.isin(truth, (0, 1)).all():
        raise PredicateError(
            f"fit: labels is {labels!r}, expected True or False for each of the"
            f" {len(scenes)} scenes."
        )
    truth = truth.astype(bool)
    if truth.all() or not truth.any():
        label = "True" if len(truth) and truth[0] else "False"
        raise PredicateError(
            f"fit: all labels are {label}, which bounds no threshold from both sides;"
            " add scenes with the other label."
        )
    return truth


def _checked_parameters(
    predicate: Predicate, parameters: Sequence[str] | None
) -> tuple[str, ...]:
    """Return the names of the parameters to fit."""
    is_class = isinstance(predicate, type)
    if isinstance(predicate, Formula) or not is_dataclass(predicate) or is_class:
        raise PredicateError(
            f"fit: predicate is {predicate!r}, expected one predicate with parameters,"
            " e.g. logic.NextTo('mug', 'bowl'), and no formula."
        )
    if isinstance(parameters, str) or not isinstance(parameters, Sequence | None):
        raise PredicateError(
            f"fit: parameters is {parameters!r}, expected a list of names or None."
        )
    values = {f.name: getattr(predicate, f.name) for f in fields(predicate)}
    known = [
        name
        for name, value in values.items()
        if isinstance(value, Real)
        and not isinstance(value, bool)
        and value > 0
        and name not in NOT_FITTED
    ]
    kind = type(predicate).__name__
    if not known:
        raise PredicateError(f"fit: {kind} has no positive number to fit.")
    for name in parameters or ():
        if name not in known:
            message = unknown_name(f"parameter of {kind}", name, known)
            raise PredicateError(f"fit: {message}")
    return tuple(parameters or known)

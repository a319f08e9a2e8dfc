"""Sentences on constraints between slices."""

from collections.abc import Iterable, Sequence

from ..problem.deviations import Deviation
from ..terms.objective_report import feature_unit


def deviation_lines(deviations: Iterable[Deviation]) -> list[str]:
    """Return a line on the largest deviation of each objective that bounds it."""
    return [f"between slices: {_in_words(deviation)}" for deviation in deviations]


def deviations_between_slices(deviations: Sequence[Deviation]) -> str:
    """Return sentences on the deviations that are too large, and what to do."""
    missed = [deviation for deviation in deviations if deviation.ratio > 1]
    if not missed:
        return ""
    return (
        f" Between slices {'; '.join(map(_in_words, missed))}. Take more"
        " slices_per_phase, or a larger `between`."
    )


def _in_words(deviation: Deviation) -> str:
    unit = feature_unit(deviation.objective.feature)
    unit = f" ({unit})" if "," in unit else f" {unit}" if unit != "1" else ""
    return (
        f"{deviation.objective.name} deviates by {deviation.amount:.2g} of"
        f" {deviation.objective.between:.2g}{unit},"
        f" {100 * deviation.fraction:.0f} % of the way to slice {deviation.segment}"
    )

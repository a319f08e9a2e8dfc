"""Costmaps: how good it is to stand in each cell of a grid, and poses drawn from it."""

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Int

from posewise.robots.kinematics.transforms import (
    axis_angle_to_quat,
    pose_multiply,
    quat_to_matrix,
)
from posewise.robots.typing import StrPath
from posewise.robots.validation import integer, number
from posewise.robots.visual.figures import new_figure
from posewise.robots.world.argument_parsing import parse_pose

from ..errors import PredicateError

Yaw: TypeAlias = Literal["centre", "random"]
"""Direction of the x axis of drawn poses: towards the centre, or random."""
YAWS = ("centre", "random")


@dataclass(frozen=True, eq=False)
class Costmap:
    """Values >= 0 of the cells of a square grid; cells above 0 are allowed.

    Row i, column j is the cell around x = (i + 1/2 - n/2) resolution, and y likewise
    with j, in the axes of the centre. `a * b`, and `a + b` as PyCRAM writes it, is the
    product, scaled to a largest value of 1.

    Raises:
        PredicateError: when values are not a square of finite numbers >= 0, or the
            resolution is not a length > 0.
        ConfigError: when the centre is not a pose.
    """

    values: Any
    """Numbers (n, n)."""
    resolution: float
    """Edge of a cell [m]."""
    centre: Any
    """Pose of the middle of the grid in the world (7,)."""

    def __post_init__(self) -> None:
        values = np.asarray(self.values, float)
        if values.ndim != 2 or len(set(values.shape)) > 1 or not values.size:
            raise PredicateError(
                f"Costmap: values have shape {values.shape}, expected a square."
            )
        if not np.isfinite(values).all() or (values < 0).any():
            raise PredicateError("Costmap: values are not all finite and >= 0.")
        number(
            "Costmap: resolution",
            self.resolution,
            "> 0 (metres)",
            lambda x: x > 0,
            PredicateError,
        )
        object.__setattr__(self, "values", values)
        centre = parse_pose("centre", None, None, self.centre)
        object.__setattr__(self, "centre", centre)

    def __mul__(self, other: "Costmap") -> "Costmap":
        same_grid = (
            self.values.shape == other.values.shape
            and np.isclose(self.resolution, other.resolution)
            and np.allclose(self.centre[:2], other.centre[:2])
            and np.allclose(self._rotation(), other._rotation())
        )
        if not same_grid:
            raise PredicateError(
                f"Costmaps of other grids cannot be merged: {self._grid()}, and"
                f" {other._grid()}; make both around the same centre, with one size and"
                " resolution."
            )
        values = self.values * other.values
        return replace(self, values=values / (values.max() or 1.0))

    __add__ = __mul__

    def sample(
        self, count: int, seed: int = 0, *, yaw: Yaw = "centre"
    ) -> Float[np.ndarray, "count 7"]:
        """Return random poses with the values as density, anywhere in a cell.

        Args:
            count: number of poses.
            seed: equal seeds give equal poses.
            yaw: "centre": x points to the centre; "random": any direction.

        Raises:
            PredicateError: when no cell is allowed, and for another yaw.
        """
        rng = np.random.default_rng(_natural_number("seed", seed))
        count = _natural_number("count", count)
        total = self.values.sum()
        if not total:
            raise PredicateError("No cell of this costmap is allowed; nothing to draw.")
        density = self.values.ravel() / total
        cells = rng.choice(density.size, count, p=density)
        return self._poses(cells, rng.uniform(-0.5, 0.5, (count, 2)), rng, yaw)

    def best(
        self, count: int, seed: int = 0, *, yaw: Yaw = "centre"
    ) -> Float[np.ndarray, "n 7"]:
        """Return poses in the middle of the allowed cells of largest value, in order.

        Args:
            count: largest number of poses.
            seed: of the order of equal values.
            yaw: see `sample`.

        Raises:
            PredicateError: for another yaw.
        """
        rng = np.random.default_rng(_natural_number("seed", seed))
        count = _natural_number("count", count)
        values = self.values.ravel()
        order = rng.permutation(values.size)
        order = order[np.argsort(-values[order], kind="stable")][:count]
        cells = order[values[order] > 0]
        return self._poses(cells, np.zeros((len(cells), 2)), rng, yaw)

    def plot(self, file: StrPath | None = None) -> Any:
        """Return a matplotlib figure of the values from above, with x to the right.

        Args:
            file: where the figure is saved, if anywhere.

        Raises:
            ImportError: without matplotlib; names the extra.
        """
        figure = new_figure(5, 4)
        axes = figure.subplots()
        half = len(self.values) * self.resolution / 2
        extent = (-half, half, -half, half)
        image = axes.imshow(self.values.T, origin="lower", extent=extent)
        axes.set_xlabel("x from the centre [m]")
        axes.set_ylabel("y from the centre [m]")
        figure.colorbar(image)
        if file is not None:
            figure.savefig(file, dpi=110)
        return figure

    def _poses(
        self,
        cells: Int[np.ndarray, " n"],
        offsets: np.ndarray,
        rng: np.random.Generator,
        yaw: Yaw,
    ) -> Float[np.ndarray, "n 7"]:
        if yaw not in YAWS:
            raise PredicateError(f"yaw is {yaw!r}, expected 'centre' or 'random'.")
        middles = cell_middles(len(self.values), self.resolution)[cells]
        x, y = (middles + offsets * self.resolution).T
        angle = rng.uniform(-np.pi, np.pi, len(cells))
        if yaw == "centre":
            angle = np.arctan2(-y, -x)
        rotation = axis_angle_to_quat(np.array([0.0, 0, 1]), angle)
        local = np.concatenate([np.stack([x, y, 0 * x], -1), rotation], -1)
        return np.asarray(pose_multiply(self.centre[None], local))

    def _rotation(self) -> Float[np.ndarray, "3 3"]:
        return quat_to_matrix(self.centre[3:])

    def _grid(self) -> str:
        n = len(self.values)
        x, y = self.centre[:2]
        return f"{n} x {n} cells of {self.resolution:g} m around ({x:.2f}, {y:.2f})"


def cell_middles(n: int, resolution: float) -> Float[np.ndarray, "cells 2"]:
    """Return the middles of all cells in the axes of the centre, row by row [m]."""
    along = (np.arange(n) + 0.5 - n / 2) * resolution
    x, y = np.meshgrid(along, along, indexing="ij")
    return np.stack([x.ravel(), y.ravel()], -1)


def _natural_number(label: str, value: Any) -> int:
    return integer(label, value, "an integer >= 0", lambda n: n >= 0, PredicateError)

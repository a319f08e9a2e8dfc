"""Maps of the floor that say how good it is to stand there, and poses drawn of them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from posewise.robots.kinematics.transforms import (
    axis_angle_to_quat,
    pose_multiply,
    quat_to_matrix,
)
from posewise.robots.validation import integer, number
from posewise.robots.visual.figures import new_figure
from posewise.robots.world.argument_parsing import parse_pose

from ..errors import PredicateError

YAWS = ("centre", "random")


@dataclass(frozen=True, eq=False)
class Costmap:
    """Values >= 0 of the cells of a square grid; those above 0 are allowed.

    Row i, column j is the cell about x = (i + 1/2 - n/2) resolution, and y likewise
    with j, in the axes of the centre. `a * b`, and `a + b` as PyCRAM writes it, is the
    product, its largest value 1.

    Raises:
        PredicateError: for values that are no square of finite numbers >= 0, and a
            resolution that is no length > 0.
        ConfigError: for a centre that is no pose.
    """

    values: Any
    resolution: Any
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
        positive = lambda x: x > 0
        what = "Costmap: resolution"
        number(what, self.resolution, "> 0 (metres)", positive, PredicateError)
        object.__setattr__(self, "values", values)
        centre = parse_pose("centre", None, None, self.centre)
        object.__setattr__(self, "centre", centre)

    def __mul__(self, other: "Costmap") -> "Costmap":
        same = (
            self.values.shape == other.values.shape
            and np.isclose(self.resolution, other.resolution)
            and np.allclose(self.centre[:2], other.centre[:2])
            and np.allclose(self._turn(), other._turn())
        )
        if not same:
            raise PredicateError(
                f"Costmaps of other grids cannot be merged: {self._grid()}, and"
                f" {other._grid()}; make both about the same centre, with one size and"
                " resolution."
            )
        values = self.values * other.values
        return replace(self, values=values / (values.max() or 1.0))

    __add__ = __mul__

    def sample(
        self, count: Any, seed: Any = 0, *, yaw: Any = "centre"
    ) -> Float[np.ndarray, "count 7"]:
        """Random poses, by the values as a density; anywhere in a cell.

        Args:
            count: how many.
            seed: the same one gives the same poses.
            yaw: "centre": x points to the centre; "random": all ways.

        Raises:
            PredicateError: where no cell is allowed, and for another yaw.
        """
        rng, count = np.random.default_rng(_whole("seed", seed)), _whole("count", count)
        total = self.values.sum()
        if not total:
            raise PredicateError("No cell of this costmap is allowed; nothing to draw.")
        flat = self.values.ravel() / total
        cells = rng.choice(flat.size, count, p=flat)
        return self._poses(cells, rng.uniform(-0.5, 0.5, (count, 2)), rng, yaw)

    def best(
        self, count: Any, seed: Any = 0, *, yaw: Any = "centre"
    ) -> Float[np.ndarray, "n 7"]:
        """Poses in the middle of the allowed cells of the largest values, best first.

        Args:
            count: how many, at most.
            seed: of the order of equal ones.
            yaw: see `sample`.

        Raises:
            PredicateError: for another yaw.
        """
        rng, count = np.random.default_rng(_whole("seed", seed)), _whole("count", count)
        flat = self.values.ravel()
        order = rng.permutation(flat.size)
        order = order[np.argsort(-flat[order], kind="stable")][:count]
        cells = order[flat[order] > 0]
        return self._poses(cells, np.zeros((len(cells), 2)), rng, yaw)

    def plot(self, file: Any = None) -> Any:
        """The values seen from above, x to the right; a matplotlib figure.

        Args:
            file: where to save it, if anywhere.

        Raises:
            ImportError: without matplotlib; names the extra.
        """
        made = new_figure(5, 4)
        axes = made.subplots()
        half = len(self.values) * self.resolution / 2
        extent = (-half, half, -half, half)
        shown = axes.imshow(self.values.T, origin="lower", extent=extent)
        axes.set_xlabel("x from the centre [m]")
        axes.set_ylabel("y from the centre [m]")
        made.colorbar(shown)
        if file is not None:
            made.savefig(file, dpi=110)
        return made

    def _poses(
        self, cells: Int[np.ndarray, " n"], off: np.ndarray, rng: Any, yaw: Any
    ) -> Float[np.ndarray, "n 7"]:
        if yaw not in YAWS:
            raise PredicateError(f"yaw is {yaw!r}, expected 'centre' or 'random'.")
        middles = cell_middles(len(self.values), self.resolution)[cells]
        x, y = (middles + off * self.resolution).T
        angle = rng.uniform(-np.pi, np.pi, len(cells))
        if yaw == "centre":
            angle = np.arctan2(-y, -x)
        turn = axis_angle_to_quat(np.array([0.0, 0, 1]), angle)
        local = np.concatenate([np.stack([x, y, 0 * x], -1), turn], -1)
        return np.asarray(pose_multiply(self.centre[None], local))

    def _turn(self) -> np.ndarray:
        return quat_to_matrix(self.centre[3:])

    def _grid(self) -> str:
        n = len(self.values)
        x, y = self.centre[:2]
        return f"{n} x {n} cells of {self.resolution:g} m about ({x:.2f}, {y:.2f})"


def cell_middles(n: int, resolution: float) -> Float[np.ndarray, "cells 2"]:
    """Middles of all cells in the axes of the centre [m], row by row."""
    along = (np.arange(n) + 0.5 - n / 2) * resolution
    x, y = np.meshgrid(along, along, indexing="ij")
    return np.stack([x.ravel(), y.ravel()], -1)


def _whole(what: str, value: Any) -> int:
    return integer(what, value, "an integer >= 0", lambda n: n >= 0, PredicateError)

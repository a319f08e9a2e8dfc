"""The sampler of placements: random, given and improved starts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.solvers.deadline import passed_deadline

from .arrangement import HintsOf, arranged_starts
from .sampling import PlacementHints, SamplingBox, sample_placements

CANDIDATES_PER_START = 8
"""Number of random placements of which one becomes a start, if solves are long: with
witnesses. More candidates give better starts but take longer to rate."""
MAX_ARRANGED = 8
"""Largest number of starts in which crowded movables are arranged. More take longer:
some .1 s each."""
ImproveStarts: TypeAlias = Callable[
    [Config, Float[np.ndarray, "n nq"]], Float[np.ndarray, "n nq"]
]
"""Moves witnesses of starts to where a constraint is more likely to hold."""


@dataclass(frozen=True, eq=False)
class PlacementSampler:
    """Initial configurations of placements; a `PathSampler` for a single slice."""

    world: Config
    names: Sequence[str]
    """Names of the movables."""
    region: SamplingBox
    """Box in which positions are drawn."""
    hints_of: HintsOf
    poses: Mapping[str, Float[np.ndarray, "n 7"]]
    """Poses to start from, of some of the movables."""
    improve_poses: Sequence[ImproveStarts]
    """Functions that move all candidates."""
    improve_witnesses: Sequence[ImproveStarts]
    """Functions that move the witnesses of starts only, because they take long."""

    def __call__(self, seed: int, count: int) -> Float[np.ndarray, "count 1 nq"]:
        """Return the present state, and random or given placements."""
        rng = np.random.default_rng(seed)
        selects = bool(self.improve_witnesses) and not self.poses
        candidates = count * CANDIDATES_PER_START if selects else count
        hints = {name: self.hints_of(self.world, name) for name in self.names}
        q = sample_placements(
            self.world, self.names, self.region, candidates, rng, hints
        )
        if self.poses:
            q[0] = self.world.q
        else:
            self._arrange(q, min(count // 2, MAX_ARRANGED), rng)
        for name, poses in self.poses.items():
            q[1:, 0, self.world.joints.coordinates([name])] = poses
        q = self._improve(q, self.improve_poses)
        return self._improve(self._best(q, count, hints), self.improve_witnesses)

    def _arrange(
        self, q: Float[np.ndarray, "n 1 nq"], count: int, rng: np.random.Generator
    ) -> None:
        """Replace the first starts by ones in which movables do not overlap."""
        poses = arranged_starts(
            self.world, self.names, self.region, self.hints_of, count, rng
        )
        for name, arranged in poses.items():
            q[: len(arranged), 0, self.world.joints.coordinates([name])] = arranged

    def _improve(
        self, q: Float[np.ndarray, "n 1 nq"], functions: Sequence[ImproveStarts]
    ) -> Float[np.ndarray, "n 1 nq"]:
        for improve in functions:
            if passed_deadline():
                break
            q = improve(self.world, q[:, 0])[:, None]
        return q

    def _best(
        self,
        q: Float[np.ndarray, "n 1 nq"],
        count: int,
        hints: Mapping[str, PlacementHints],
    ) -> Float[np.ndarray, "count 1 nq"]:
        """Return the candidates with most votes, and the present state last."""
        if len(q) == count:
            return q
        votes = np.zeros(len(q))
        for name, hint in hints.items():
            if hint.admitting is not None:
                columns = self.world.joints.coordinates([name])
                votes += hint.votes(q[:, 0, columns])
        is_present = (q[:, 0] == self.world.q).all(-1)
        order = np.argsort(np.where(is_present, np.inf, -votes), kind="stable")
        return q[np.r_[order[: count - 1], order[-1:]]]

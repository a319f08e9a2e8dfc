"""Sight: an object that is hit first by the ray through a pixel of a camera."""

from dataclasses import dataclass

from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..exact.sight import agent_camera, sight_verdict
from ..exact.verdict import Verdict
from ..geometry.camera_rays import frames_of_others
from ..geometry.frame_groups import FrameGroup, find_object, require_shapes
from ..relaxed.constraint_terms import ConstraintTerm, Inequality
from ..relaxed.object_features import feature_on_frames, of_visible_shapes
from ..relaxed.sight.rows import out_of_view_rows, visible_rows
from .verdict_predicate import SemanticPredicate


@dataclass(frozen=True)
class InFoVOfAgent(SemanticPredicate):
    """At least one pixel of the agent's camera shows a.

    A pixel shows what the ray through its centre hits first, among all shapes of the
    world that are drawn, those of the agent included, but not the convex parts that
    contain the camera. Shapes for collision stand for a frame that has no others,
    or only meshes besides, whose convex hulls would hide more. Surfaces nearer than
    the camera's `near`, or farther than its `far`, are not seen and hide nothing.
    All semantics agree.

    The default is "posewise", as for all predicates.

    Args:
        a: an object or frame with a shape.
        agent: an agent of `C.annotations.add_agent` with a camera; or a camera.

    Raises:
        ConfigError: when evaluated, for unknown names, an agent without a camera, and
            an object without a shape.
    """

    a: FrameName
    agent: str

    def verdict(self, C: Config) -> Verdict:
        return sight_verdict(C, self.a, self.agent)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return a row of some pixels near points of a, one of which must show it.

        The relaxed negation demands that each part is outside of the view frustum,
        between pixels, around the camera, or behind one convex part of another object;
        one that only several of them hide together does not satisfy it.
        """
        C = C.visible_copy()
        camera, a = agent_camera(C, self.agent), require_shapes(find_object(C, self.a))
        eye = FrameGroup(C, camera.name, (C.index(camera.name),))
        others = FrameGroup(C, "", tuple(frames_of_others(a)))
        error = 0.5 * self.bound
        rows = (visible_rows if truth else out_of_view_rows)(camera, error)
        rows = of_visible_shapes(rows)
        feature = feature_on_frames([a, eye, others], rows)
        return Inequality(feature, error=error)

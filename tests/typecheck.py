"""Runtime checks of annotations; an int is accepted where a float is (PEP 484)."""

from collections.abc import Callable
from typing import Any

from beartype import BeartypeConf, beartype

VALIDATES_ITSELF = frozenset(
    """
    posewise.cli.problem_file
    posewise.features.feature
    posewise.features.table
    posewise.logic.bddl.binding
    posewise.logic.bddl.definitions
    posewise.logic.bddl.scene
    posewise.logic.bddl.solving
    posewise.logic.bddl.task
    posewise.logic.exact.attachment
    posewise.logic.exact.contact
    posewise.logic.exact.containment
    posewise.logic.exact.floors
    posewise.logic.exact.footing
    posewise.logic.exact.grasps
    posewise.logic.exact.joint_openness
    posewise.logic.exact.next_to
    posewise.logic.exact.reach
    posewise.logic.exact.rooms
    posewise.logic.exact.sight
    posewise.logic.exact.stable
    posewise.logic.exact.support
    posewise.logic.exact.upright
    posewise.logic.exact.verdict
    posewise.logic.formulas.connectives
    posewise.logic.formulas.formula
    posewise.logic.formulas.pair_quantifiers
    posewise.logic.formulas.predicate
    posewise.logic.formulas.quantifiers
    posewise.logic.formulas.temporal
    posewise.logic.formulas.trajectory
    posewise.logic.motion.activity
    posewise.logic.motion.plan
    posewise.logic.motion.planner
    posewise.logic.motion.step_types
    posewise.logic.parameter_fit
    posewise.logic.planning.branch_placement
    posewise.logic.planning.dnf_search
    posewise.logic.predicates.attachment
    posewise.logic.predicates.contact
    posewise.logic.predicates.containment
    posewise.logic.predicates.floors
    posewise.logic.predicates.grasps
    posewise.logic.predicates.joint_openness
    posewise.logic.predicates.next_to
    posewise.logic.predicates.reach
    posewise.logic.predicates.rooms
    posewise.logic.predicates.sight
    posewise.logic.predicates.stable
    posewise.logic.predicates.support
    posewise.logic.predicates.upright
    posewise.logic.predicates.verdict_predicate
    posewise.logic.queries.blocking
    posewise.logic.queries.contact
    posewise.logic.queries.costmap
    posewise.logic.queries.costmaps
    posewise.logic.queries.ghost_arm
    posewise.logic.queries.occluding
    posewise.logic.queries.pixel_visibility
    posewise.logic.queries.query_arguments
    posewise.logic.queries.reachable
    posewise.logic.queries.serial_chain
    posewise.logic.queries.stable
    posewise.logic.queries.supporting
    posewise.logic.queries.visible
    posewise.logic.rostok.body_events
    posewise.logic.rostok.contact_events
    posewise.logic.rostok.criterion
    posewise.logic.rostok.criterion_objective
    posewise.logic.rostok.event
    posewise.logic.rostok.event_builders
    posewise.logic.rostok.event_loop
    posewise.logic.rostok.forces
    posewise.logic.rostok.grasp_criteria
    posewise.logic.rostok.grasp_events
    posewise.logic.rostok.grasp_simulation
    posewise.logic.rostok.path_trace
    posewise.logic.rostok.run_criteria
    posewise.logic.rostok.simulation_reward
    posewise.logic.rostok.smooth_events
    posewise.logic.rostok.trace
    posewise.logic.rostok.trace_arrays
    posewise.logic.states.dirt_predicates
    posewise.logic.states.existence_predicates
    posewise.logic.states.particle_sampling
    posewise.logic.states.resampling
    posewise.logic.states.rollout
    posewise.logic.states.state_predicate
    posewise.logic.states.thermal_predicates
    posewise.logic.states.thermal_rules
    posewise.logic.states.toggle_slice_predicates
    posewise.logic.states.water_predicates
    posewise.objectives.komo
    posewise.objectives.placement.arguments
    posewise.objectives.placement.problem
    posewise.objectives.planning.plugged_search
    posewise.objectives.preparation
    posewise.objectives.presets.contact_constraints
    posewise.objectives.presets.grasping
    posewise.objectives.presets.helpers
    posewise.objectives.presets.motion
    posewise.objectives.presets.motion_limits
    posewise.objectives.problem.builder
    posewise.objectives.problem.free_durations
    posewise.objectives.problem.mode_switch
    posewise.objectives.problem.nlp
    posewise.objectives.problem.path_arguments
    posewise.objectives.problem.path_problem
    posewise.objectives.problem.spec
    posewise.objectives.report.filming
    posewise.objectives.solution.sensitivity
    posewise.objectives.solution.solution
    posewise.objectives.solution.subproblem
    posewise.objectives.solution.targets
    posewise.objectives.solve.batches
    posewise.objectives.solve.distributed
    posewise.objectives.solve.multistart
    posewise.objectives.solve.problem_batch
    posewise.objectives.solve.settings
    posewise.objectives.solve.target_function
    posewise.objectives.templates
    posewise.objectives.terms.interval
    posewise.objectives.terms.objective
    posewise.objectives.trajectory.files
    posewise.objectives.trajectory.limits
    posewise.objectives.trajectory.played_path
    posewise.objectives.trajectory.retiming
    posewise.objectives.trajectory.sampling
    posewise.objectives.trajectory.trajectory
    posewise.rai.config
    posewise.rai.enums
    posewise.rai.frame
    posewise.rai.komo
    posewise.rai.nlp
    posewise.robots.annotations.abilities
    posewise.robots.annotations.agents
    posewise.robots.annotations.annotations
    posewise.robots.annotations.object_states
    posewise.robots.annotations.objects
    posewise.robots.annotations.regions
    posewise.robots.annotations.rooms
    posewise.robots.config
    posewise.robots.contact.filter
    posewise.robots.contact.proximity
    posewise.robots.errors
    posewise.robots.geometry.sdf_grid
    posewise.robots.geometry.shapes
    posewise.robots.loaders.dispatch
    posewise.robots.loaders.package_folders
    posewise.robots.loaders.urdf.srdf
    posewise.robots.loaders.urdf.xacro_text
    posewise.robots.models
    posewise.robots.simulation.run
    posewise.robots.simulation.twin
    posewise.robots.validation
    posewise.robots.visual.film
    posewise.robots.visual.viewer.animation
    posewise.robots.visual.viewer.view
    posewise.robots.world.add
    posewise.robots.world.argument_parsing
    posewise.robots.world.edit
    posewise.robots.world.fit_collisions
    posewise.robots.world.frame_tree
    posewise.robots.world.named_states
    posewise.robots.world.subtree_copy
    posewise.torch
    """.split()
)
"""Modules whose functions check user input and answer with a sentence.

beartype is not applied there: it would raise before the sentence does.
"""

_beartype = beartype(conf=BeartypeConf(is_pep484_tower=True))


def check(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Check the annotations of a function, unless its module validates itself."""
    return fn if fn.__module__ in VALIDATES_ITSELF else _beartype(fn)

"""Inverse kinematics with self-collision by mink or PyRoki, in a Python that has them.

Run by `ik_peers.py`: reads a request as JSON on stdin, and prints the answer. What each
is asked for: the tip at a point (its orientation is free), within the limits, without
overlaps of the given pairs of links, from the given eight starts.

mink: differential inverse kinematics with its `CollisionAvoidanceLimit` on the convex
hulls of the meshes, 1 mm apart; velocities of at most 3 rad/s, at most 100 steps of
0.1 s; one start after the other until the tip is within 0.5 mm.

PyRoki: one capsule a link, as its `RobotCollision.from_urdf` fits them; least squares
with limits as constraints, weight 50 of the position, 5 of its self-collision cost with
a margin of 5 mm, 0.01 of leaving home; all eight starts at once by `vmap`, of which the
one with the least sum of errors is taken. float32, as is its habit.
"""

import json
import sys
import time
import xml.etree.ElementTree as ElementTree

import numpy as np


def mink(request: dict):
    """Return a function that solves for a target."""
    import mink
    import mujoco

    root = ElementTree.fromstring(request["urdf"])
    words = dict(strippath="false", fusestatic="false", discardvisual="true")
    words |= dict(boundmass="0.001", boundinertia="0.000001", balanceinertia="true")
    ElementTree.SubElement(ElementTree.SubElement(root, "mujoco"), "compiler", words)
    model = mujoco.MjModel.from_xml_string(ElementTree.tostring(root, "unicode"))
    geoms: dict[str, list[int]] = {}
    for geom, body in enumerate(model.geom_bodyid):
        name = model.body(body).name
        geoms.setdefault(request["root"] if name == "world" else name, []).append(geom)
    pairs = [(geoms.get(a, []), geoms.get(b, [])) for a, b in request["pairs"]]
    names = [model.joint(j).name for j in range(model.njnt)]
    limits = [
        mink.ConfigurationLimit(model),
        mink.VelocityLimit(model, {name: 3.0 for name in names}),
        mink.CollisionAvoidanceLimit(
            model,
            [pair for pair in pairs if pair[0] and pair[1]],
            minimum_distance_from_collisions=1e-3,
            collision_detection_distance=0.1,
        ),
    ]
    reach = mink.FrameTask(request["tip"], "body", 1.0, 0.0)
    posture = mink.PostureTask(model, cost=1e-4)
    configuration = mink.Configuration(model)
    posture.set_target(configuration.q)

    def solve(target: np.ndarray) -> dict[str, float]:
        goal = mink.SE3.from_translation(target)
        reach.set_target(goal)
        for start in request["starts"]:
            configuration.update(np.array([start.get(name, 0.0) for name in names]))
            for _ in range(100):
                tip = configuration.get_transform_frame_to_world(request["tip"], "body")
                if np.linalg.norm(tip.translation() - target) < 5e-4:
                    return dict(zip(names, configuration.q.tolist(), strict=True))
                try:
                    v = mink.solve_ik(
                        configuration,
                        [reach, posture],
                        0.1,
                        "daqp",
                        1e-6,
                        limits=limits,
                    )
                except mink.NoSolutionFound:
                    break
                configuration.integrate_inplace(v, 0.1)
        return dict(zip(names, configuration.q.tolist(), strict=True))

    return solve


def pyroki(request: dict):
    """Return a function that solves for a target."""
    import io

    import jax
    import jax.numpy as jnp
    import jaxls
    import pyroki
    import yourdfpy

    urdf = yourdfpy.URDF.load(
        io.BytesIO(request["urdf"].encode()),
        load_meshes=False,
        load_collision_meshes=True,
        build_collision_scene_graph=True,
        filename_handler=lambda fname: fname,
    )
    robot = pyroki.Robot.from_urdf(urdf)
    names = robot.joints.actuated_names
    starts = jnp.array(
        [[s.get(name, 0.0) for name in names] for s in request["starts"]]
    )
    keep = {frozenset(pair) for pair in request["pairs"]}
    links = robot.links.names
    ignored = tuple(
        (a, b)
        for i, a in enumerate(links)
        for b in links[i + 1 :]
        if frozenset((a, b)) not in keep
    )
    model = pyroki.collision.RobotCollision.from_urdf(urdf, user_ignore_pairs=ignored)
    tip = links.index(request["tip"])

    def away(q: jax.Array, target: jax.Array) -> jax.Array:
        return robot.forward_kinematics(q)[tip, 4:] - target

    @jaxls.Cost.factory
    def position_cost(values, variable, target):
        return 50.0 * away(values[variable], target)

    def from_start(start, target):
        variable = robot.joint_var_cls(0)
        costs = [
            position_cost(variable, target),
            pyroki.costs.self_collision_cost(
                robot, model, variable, margin=0.005, weight=5.0
            ),
            pyroki.costs.rest_cost(variable, starts[0], weight=0.01),
            pyroki.costs.limit_constraint(robot, variable),
        ]
        problem = jaxls.LeastSquaresProblem(costs, [variable]).analyze()
        first = jaxls.VarValues.make([variable.with_value(start)])
        q = problem.solve(first, verbose=False, linear_solver="dense_cholesky")[
            variable
        ]
        overlap = -model.compute_self_collision_distance(robot, q)
        return q, jnp.linalg.norm(away(q, target)) + jnp.maximum(overlap, 0).sum()

    @jax.jit
    def best(target):
        q, error = jax.vmap(from_start, (0, None))(starts, target)
        return q[jnp.argmin(error)]

    def solve(target: np.ndarray) -> dict[str, float]:
        q = np.asarray(best(jnp.asarray(target, jnp.float32)), float)
        return dict(zip(names, q.tolist(), strict=True))

    return solve


def main() -> None:
    """Print the seconds of each target, the first one twice, and what was found."""
    request = json.load(sys.stdin)
    targets = np.array(request["targets"])
    begin = time.perf_counter()
    solve = {"mink": mink, "PyRoki": pyroki}[request["peer"]](request)
    load = time.perf_counter() - begin
    seconds, solutions = [], []
    for target in [targets[0], *targets]:
        begin = time.perf_counter()
        solutions.append(solve(target))
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"load": load, "seconds": seconds, "found": solutions[1:]}))


if __name__ == "__main__":
    main()

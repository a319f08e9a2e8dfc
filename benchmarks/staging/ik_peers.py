"""The targets of `benchmarks/robots.py` for mink and PyRoki, judged by posewise."""

import json
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np

import posewise as pw

from .real_robots import (
    ROBOTS,
    Prepared,
    Robot,
    data_folder,
    home,
    is_reached,
    load,
    random_states,
)

PEERS = ("mink", "PyRoki")
STARTS = 8
LIMIT = 600
"""Seconds after which a peer is given up."""


def plain_urdf(robot: Robot) -> str:
    """Return the URDF without what is only seen, and with full paths of meshes."""
    root = ElementTree.parse(robot.path).getroot()
    for link in root.iter("link"):
        for visual in link.findall("visual"):
            link.remove(visual)
    for mesh in root.iter("mesh"):
        inside = mesh.get("filename", "").split("/robots/", 1)[1]
        mesh.set("filename", str(data_folder() / inside))
    return ElementTree.tostring(root, "unicode")


def random_starts(C: pw.Config) -> list[dict[str, float]]:
    """Return home and random states, by joint."""
    rng = np.random.default_rng(1)
    states = [home(C), *random_states(C, rng, STARTS - 1)]
    return [
        dict(zip(C.joints.coordinate_names, q.tolist(), strict=True)) for q in states
    ]


def ask(python: Path, request: dict) -> dict | str:
    """Return a peer's answer, or why there is none."""
    worker = Path(__file__).with_name("ik_peer_worker.py")
    try:
        run = subprocess.run(
            [str(python), str(worker)],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        return f"more than {LIMIT} s"
    if run.returncode:
        return " ".join(run.stderr.strip().splitlines()[-2:])[:200]
    return json.loads(run.stdout.splitlines()[-1])


def compare(python: Path, folder: Path, rounds: int, ours: dict[str, dict]) -> None:
    """Print a table of the peers beside posewise with the robots' meshes.

    Args:
        python: one that has the peers.
        folder: of what `prepare` has found, by robot.
        rounds: number of targets.
        ours: first s, warm ms and success of posewise, by robot.
    """
    print("\n| robot | solver | pairs | first s | warm ms | success |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, values in ours.items():
        prepared, robot = Prepared(folder / name), ROBOTS[name]
        C = load(robot)
        prepared.exclude(C, "meshes")
        targets = prepared.targets[:rounds]
        request = {
            "urdf": plain_urdf(robot),
            "root": C.frame_names[0],
            "tip": robot.tip,
            "pairs": C.pairs.names(),
            "starts": random_starts(C),
            "targets": targets.tolist(),
        }
        pairs = len(request["pairs"])
        line = "| {} | {} | {} | {:.1f} | {:.1f} | {:.0%} |"
        if values:
            print(line.format(name, "posewise", pairs, *values.values()))
        for peer in PEERS:
            answer = ask(python, request | {"peer": peer})
            if isinstance(answer, str):
                print(f"| {name} | {peer} | {answer} |", flush=True)
                continue
            good = []
            for joints, target in zip(answer["found"], targets, strict=True):
                q = [joints.get(joint, 0.0) for joint in C.joints.coordinate_names]
                good.append(is_reached(C, robot.tip, np.array(q), target))
            first, *warm = answer["seconds"]
            cells = (pairs, first, 1e3 * np.median(warm), np.mean(good))
            print(line.format(name, peer, *cells), flush=True)

"""Run as a script: what `robotic` makes of graph files, one JSON line per file.

    python robotic_dump.py a.g b.yml ...

Each file is loaded in a forked child, since `robotic` may end the process or hang on
a bad file; such files give `null`.
"""

import json
import os
import signal
import sys

SECONDS = 20


def dump(path):
    """Frames and joints of one file, as `robotic` reads it."""
    C = robotic.Config()
    C.addFile(path)
    frames = []
    for frame in C.getFrames():
        parent = frame.getParent()
        joint = frame.getJointType().name if _named(frame.getJointType()) else "?"
        shape = frame.getShapeType().name if _named(frame.getShapeType()) else "?"
        known = frame.asDict()
        points = frame.getMeshPoints() if shape == "mesh" else None
        mass, _, inertia = frame.getInertia() if known.get("mass") else (0.0, 0, None)
        frames.append(
            {
                "name": frame.name,
                "parent_index": parent.ID if parent else None,
                "pose": frame.getPose().tolist(),
                "joint": joint,
                "q": frame.getJointState().tolist() if joint != "none" else [],
                "limits": list(known.get("limits", [])),
                "mimic": known.get("mimic"),
                "joint_scale": known.get("joint_scale", 1.0),
                "shape": shape,
                "size": frame.getSize().tolist() if shape != "none" else [],
                "contact": int(known.get("contact", 0)),
                "mass": known.get("mass", 0.0),
                "inertia": None if inertia is None else inertia.tolist(),
                "note": known.get("note"),
                "n_mesh_vertices": None if points is None else len(points),
            }
        )
    limits = C.getJointLimits() if C.getJointDimension() else ([], [])
    return {
        "frames": frames,
        "joint_names": C.getJointNames(),
        "q": C.getJointState().tolist(),
        "limits_lo": list(limits[0]),
        "limits_hi": list(limits[1]),
    }


def _named(member):
    return member.name not in ("???", "")


def in_child(path):
    """`dump` in a forked process with a time limit; None if it fails."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os.close(reading)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        try:
            text = json.dumps(dump(path))
        except BaseException:
            text = ""
        with os.fdopen(writing, "w") as pipe:
            pipe.write(text)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    try:
        return json.loads(text)
    except ValueError:
        return None


if __name__ == "__main__":
    import robotic

    for path in sys.argv[1:]:
        print(json.dumps(in_child(path)), flush=True)

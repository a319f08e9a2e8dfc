"""coacd in a process of its own: it may print, abort or never end on broken meshes.

The process runs this file as a script, apart from posewise.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

PREPROCESS_RESOLUTION = 30
"""Cells along the grid on which open surfaces become solid; 50 take minutes."""


class CoacdError(RuntimeError):
    """coacd gave no parts; says how it ended."""


def run_coacd(
    vertices: Float[np.ndarray, "vertices 3"],
    faces: Int[np.ndarray, "faces 3"],
    threshold: float,
    time_limit: float,
) -> list[np.ndarray]:
    """The vertices of the convex parts.

    Args:
        vertices: corners.
        faces: triangles of corners.
        threshold: how concave a part may be, as coacd measures it.
        time_limit: seconds until it is stopped.

    Raises:
        CoacdError: when it ends without parts, or does not end in time.
    """
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "mesh.npz", Path(folder) / "parts.npz"
        np.savez(given, vertices=vertices, faces=faces)
        command = [
            sys.executable,
            "-P",
            __file__,
            str(given),
            str(made),
            f"{threshold}",
        ]
        try:
            ended = subprocess.run(
                command, capture_output=True, text=True, timeout=time_limit
            )
        except subprocess.TimeoutExpired:
            raise CoacdError(f"coacd did not end within {time_limit:g} s") from None
        if ended.returncode or not made.is_file():
            last = (ended.stderr.strip().splitlines() or ["it says nothing"])[-1]
            raise CoacdError(f"coacd ended with code {ended.returncode}: {last[:200]}")
        with np.load(made, allow_pickle=False) as file:
            parts = [file[name] for name in file.files]
    parts = [part for part in parts if len(part) and np.isfinite(part).all()]
    if not parts:
        raise CoacdError("coacd found no part")
    return parts


def _main(given: str, made: str, threshold: str) -> None:
    import coacd

    coacd.set_log_level("off")
    with np.load(given, allow_pickle=False) as file:
        mesh = coacd.Mesh(file["vertices"], file["faces"])
    parts = coacd.run_coacd(
        mesh,
        threshold=float(threshold),
        preprocess_resolution=PREPROCESS_RESOLUTION,
        seed=0,
    )
    np.savez(made, **{str(i): part[0] for i, part in enumerate(parts)})


if __name__ == "__main__":
    _main(*sys.argv[1:])

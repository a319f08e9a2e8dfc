"""`posewise doctor`: the versions, devices, caches and packages of an installation."""

import importlib.util
import os
import platform
import re
import sys
import time
from collections.abc import Iterator
from importlib import metadata

import jax
import numpy as np

from posewise.compilation import cache_folder
from posewise.compilation.small_calls import small_calls
from posewise.demo import inverse_kinematics, load_robot

NUM_WARM_SOLVES = 10
"""Number of timed solves after the first (count)."""

MODULES = {"pyyaml": "yaml", "libigl": "igl", "pycollada": "collada", "usd-core": "pxr"}
"""Names to import of the packages that are installed under another one."""

FOR_USERS = (
    *"plot mujoco usd rai cli meshes xacro retime ompl viz bddl cluster".split(),
    *"notebook torch".split(),
)
"""Extras that are worth naming, if this version of posewise has them."""


def run_doctor() -> bool:
    """Print what this installation is; return whether it solves a problem."""
    for title, lines in (
        ("Versions", versions()),
        ("Devices", devices()),
        ("Fast form", [fast_form()]),
        ("Program cache", [program_cache()]),
        ("Extras", extras()),
    ):
        print(f"{title}:")
        for line in lines:
            print(f"  {line}")
    is_solved, line = time_a_solve()
    print(f"Solve:\n  {line}")
    return is_solved


def versions() -> Iterator[str]:
    """Yield the versions of Python and of the packages that posewise needs."""
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    yield f"Python {platform.python_version()} ({sys.executable}), {system}"
    for name in ("posewise", "jax", "jaxlib", "numpy", "optax", "trimesh", "jaxtyping"):
        yield f"{name} {_version(name) or 'runs from its sources'}"


def devices() -> Iterator[str]:
    """Yield the devices of JAX; the first one is the default."""
    for device in jax.devices():
        yield f"{device.platform} {device.id}: {device.device_kind}"
    if jax.default_backend() == "cpu" and importlib.util.find_spec("libtpu") is None:
        yield "No GPU is seen; with an NVIDIA GPU: pip install 'jax[cuda13]'"


def fast_form() -> str:
    """Return whether programs are compiled as single kernels, and why if not."""
    support = small_calls()
    if support.options is not None:
        return "on: programs for CPUs are compiled as single kernels"
    return f"off, solves take 1.5 to 5 times as long on CPUs: {support.reason}"


def program_cache() -> str:
    """Return the folder of compiled programs, their number and size."""
    folder = cache_folder.cache_dir()
    if folder is None:
        return f"off: {cache_folder.why_no_cache()}"
    files = [*cache_folder.files_by_use(folder)]
    count = sum(file.suffix == ".program" for _, _, file in files)
    size = sum(size for _, size, _ in files) / 2**20
    bound = cache_folder.MAX_SIZE / 2**20
    return f"{folder}: {count} programs, {size:.0f} of at most {bound:.0f} MiB"


def extras() -> Iterator[str]:
    """Yield a line for each set of optional packages: present, or how to install it."""
    try:
        required = metadata.requires("posewise") or []
    except metadata.PackageNotFoundError:
        yield "unknown, because posewise is not installed: pip install -e ."
        return
    for extra in FOR_USERS:
        named = [line for line in required if re.search(rf'extra == "{extra}"', line)]
        names = [re.split(r"[^\w.-]", line)[0] for line in named]
        missing = [name for name in names if not _is_present(name)]
        if not missing:
            yield f"{extra}: present"
        else:
            absent = ", ".join(missing)
            yield f"{extra}: {absent} missing: pip install 'posewise[{extra}]'"


def time_a_solve() -> tuple[bool, str]:
    """Return whether an inverse kinematics is solved, and how long it takes."""
    start = time.perf_counter()
    komo = inverse_kinematics(load_robot(None, None, 0))
    solution = komo.solve(0)
    first = time.perf_counter() - start
    ms = 1e3 * np.median([komo.solve(k).seconds for k in range(NUM_WARM_SOLVES)])
    text = f"inverse kinematics of a Panda: {solution.status.name}, first"
    text += (
        f" {first:.1f} s (compiled, or read from the cache), further ones {ms:.2f} ms"
    )
    return solution.feasible, text


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _is_present(name: str) -> bool:
    name = name.lower()
    if name == "posewise":
        return True
    module = MODULES.get(name, name).replace("-", "_")
    return importlib.util.find_spec(module) is not None

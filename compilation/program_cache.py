"""Compiled programs on disk, found by what they are made of.

JAX's own cache is asked after a program has been traced and lowered, which takes longer
than to read it. What is not known to be the same in every process is left to that.
"""

import hashlib
import os
import pickle
import platform
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any
from uuid import uuid4

import jax
import jaxlib
from jax.experimental import serialize_executable

from .fingerprint import NotFingerprintable, fingerprint

JAX_SETTINGS = (
    "jax_enable_x64",
    "jax_default_matmul_precision",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
    "jax_debug_nans",
    "jax_debug_infs",
    "jax_disable_jit",
)
"""Of JAX's settings, those that programs depend on."""


CACHE_SALT_OPTION = "xla_gpu_algorithm_denylist_path"
"""An option that does nothing on CPUs. With a value of its own no program is found in
JAX's cache: of one from there XLA writes only a part, which runs in no other process.
"""


class _CacheDir:
    """Where programs are kept; None: nowhere."""

    folder: Path | None = None


def set_cache_dir(folder: Path | None) -> None:
    """Keep what is compiled from now on in a folder, and look there first."""
    _CacheDir.folder = folder


def load_or_compile(program: Any, made_of: Any) -> Any:
    """A jitted function, to be compiled in this process only if it never was before.

    Args:
        program: the function.
        made_of: all that decides what it does, besides the shapes of its arguments.
    """
    if _CacheDir.folder is None or jax.default_backend() != "cpu":
        return program
    try:
        return CachedProgram(program, fingerprint(made_of), _CacheDir.folder)
    except NotFingerprintable:
        return program


class CachedProgram:
    """A jitted function with its compiled programs on disk."""

    def __init__(self, program: Any, mark: str, folder: Path) -> None:
        self.program, self.mark, self.folder = program, mark, folder
        self.runs: dict[Any, Callable[..., Any]] = {}
        self.lock = Lock()

    def __call__(self, *args: Any) -> Any:
        leaves, tree = jax.tree.flatten(args)
        key = tree, tuple(map(_abstract_value, leaves))
        with self.lock:
            if key not in self.runs:
                self.runs[key] = self._run(args, key)
        return self.runs[key](*args)

    def _cache_size(self) -> int:
        return len(self.runs)

    def _run(self, args: Any, key: Any) -> Callable[..., Any]:
        try:
            name = fingerprint((self.mark, key, _environment()))
        except NotFingerprintable:
            return self.program
        file = self.folder / f"{name}.program"
        run = _load(file, _client_of(args))
        if run is None:
            run = self.program.lower(*args).compile({CACHE_SALT_OPTION: uuid4().hex})
            _store(file, run)
        return run


def _abstract_value(a: Any) -> tuple[Any, ...]:
    """What a program must know of an argument."""
    return (a.shape, a.dtype) if hasattr(a, "dtype") else (type(a).__name__,)


def _client_of(args: Any) -> Any:
    """That of the arrays among them, where a program is to run; None: the default."""
    arrays = (a for a in jax.tree.leaves(args) if isinstance(a, jax.Array))
    return next((d.client for a in arrays for d in a.devices()), None)


def _device_ids(run: Any) -> list[int]:
    """The numbers of those that a program runs on, in its order."""
    where = jax.tree.leaves(run.input_shardings)[0]
    if hasattr(where, "mesh"):
        return [d.id for d in where.mesh.devices.flat]
    return sorted(d.id for d in where.device_set)


def _load(file: Path, client: Any) -> Any:
    """None: it is absent, broken, or of a machine that is not like this one."""
    try:
        own, (data, ins, outs) = pickle.loads(file.read_bytes())
        present = jax.devices() if client is None else client.devices()
        found = {d.id: d for d in present}
        devices = [found[i] for i in own]
        given = data, ins, outs, devices[0].client, devices
        return serialize_executable.deserialize_and_load(*given)
    except Exception:
        return None


def _store(file: Path, run: Any) -> None:
    """At once, as others may read; a disk that is full is no reason to stop."""
    try:
        made = serialize_executable.serialize(run)
        data = pickle.dumps((_device_ids(run), made))
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as new:
            new.write(data)
        os.replace(new.name, file)
    except Exception:
        return


def _environment() -> tuple[Any, ...]:
    return (
        *(getattr(jax.config, name) for name in JAX_SETTINGS),
        *(jax.__version__, jaxlib.__version__, platform.python_version()),
        *(
            _source_digest(),
            _cpu_model(),
            len(jax.devices()),
            os.environ.get("XLA_FLAGS"),
        ),
    )


@cache
def _source_digest() -> str:
    """A digest of posewise itself."""
    digest = hashlib.sha256()
    root = Path(__file__).absolute().parents[1]
    for folder, folders, files in os.walk(root, followlinks=True):
        folders.sort()
        for name in sorted(files):
            if name.endswith(".py"):
                file = Path(folder, name)
                digest.update(f"{file.relative_to(root)}\n".encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()


@cache
def _cpu_model() -> str:
    """The processor, as far as programs may depend on it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    return "\n".join(
        sorted({s for s in lines if s.startswith(("model name", "flags"))})
    )

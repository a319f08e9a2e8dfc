"""A cache of compiled programs on disk, keyed by fingerprints.

JAX's own cache is asked only after a program has been traced and lowered, which takes
longer than reading the program. Values without a fingerprint fall back to that cache,
if the user has chosen a folder for it.
"""

import hashlib
import os
import pickle
import platform
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import Any
from uuid import uuid4

import jax
import jaxlib
from jaxtyping import PyTree

from . import cache_folder, private_jax
from .backend import is_cpu_backend
from .cache_folder import cache_dir
from .compile_time import compiling
from .fingerprint import NotFingerprintable, fingerprint
from .loaded_programs import LOADED_PROGRAMS, CompiledFunction, JittedFunction
from .plain_jit import uses_plain_jit

JAX_SETTINGS = (
    "jax_enable_x64",
    "jax_default_matmul_precision",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
    "jax_debug_nans",
    "jax_debug_infs",
    "jax_disable_jit",
)
"""The settings of JAX that programs depend on."""


CACHE_SALT_OPTION = "xla_gpu_algorithm_denylist_path"
"""A compiler option that is unused on CPUs but enters the key of JAX's own cache.

A unique value keeps JAX from taking the program from that cache: XLA serializes such a
program without its code, so that it runs in no other process.
"""


def load_or_compile(
    jitted: jax.stages.Wrapped, identity: object, reason: str = ""
) -> CompiledFunction:
    """Return a jitted function that reads its programs from the cache if possible.

    Without a cache folder, with plain `jax.jit`, on accelerators, and for an identity
    without a fingerprint, `jax.jit` compiles and keeps the programs.

    Args:
        jitted: the function.
        identity: all values that determine what the function computes, except the
            shapes of its arguments.
        reason: why there is no program yet, as words.
    """
    folder = cache_dir()
    if folder is None or uses_plain_jit() or not is_cpu_backend():
        return JittedFunction(jitted)
    try:
        return CachedFunction(jitted, fingerprint(identity), folder, reason)
    except NotFingerprintable:
        return JittedFunction(jitted)


class CachedFunction:
    """A function whose compiled programs are kept on disk, and loaded while in use.

    Args:
        jitted: the function.
        identity: its fingerprint.
        folder: where programs are kept.
        reason: why there is no program yet, as words.
    """

    def __init__(
        self, jitted: jax.stages.Wrapped, identity: str, folder: Path, reason: str
    ) -> None:
        self.jitted, self.identity, self.folder = jitted, identity, folder
        self.reason = reason
        self.executables: dict[Any, Callable[..., Any]] = {}
        """By structure, shapes and dtypes of the arguments."""
        self.num_loaded = 0
        self.lock = Lock()

    def __call__(self, *args: PyTree) -> Any:
        leaves, tree = jax.tree.flatten(args)
        key = tree, tuple(map(_abstract_value, leaves))
        # one thread compiles, so that lanes of a batch do not compile the same program
        with self.lock:
            run = self.executables.get(key)
            if run is None:
                run = self.executables[key] = self._load_or_compile(args, key)
                self.num_loaded += 1
        LOADED_PROGRAMS.use(run, partial(self._drop, key, run))
        return run(*args)

    def num_compilations(self) -> int:
        """Return the number of programs that have been compiled or read."""
        return self.num_loaded

    def drop(self) -> None:
        """Drop all programs; a further call reads or compiles them again."""
        for key, run in [*self.executables.items()]:
            LOADED_PROGRAMS.forget(run)
            self._drop(key, run)

    def _drop(self, key: Any, run: Callable[..., Any]) -> None:
        """Drop a program, unless another one has taken its place.

        Without the lock, which another thread may hold while it compiles.
        """
        if self.executables.get(key) is run:
            self.executables.pop(key, None)

    def _reason(self) -> str:
        """Return why there is no program, as words."""
        return "other sizes of its arrays" if self.num_loaded else self.reason

    def _load_or_compile(self, args: Any, key: Any) -> Callable[..., Any]:
        try:
            name = fingerprint((self.identity, key, _environment()))
        except NotFingerprintable:
            with compiling(self._reason()):
                compiled: Callable[..., Any] = self.jitted.lower(*args).compile()
                return compiled
        file = self.folder / f"{name}.program"
        run: Callable[..., Any] | None = _load(file, _client_of(args))
        if run is None:
            options: dict[str, str | bool] = {CACHE_SALT_OPTION: uuid4().hex}
            with compiling(self._reason()):
                run = self.jitted.lower(*args).compile(options)
            _store(file, run)
        return run


def _abstract_value(a: Any) -> tuple[Any, ...]:
    """Return what a program depends on of an argument."""
    return (a.shape, a.dtype) if hasattr(a, "dtype") else (type(a).__name__,)


def _client_of(args: Any) -> Any:
    """Return the client whose devices hold the arguments; None: the default client."""
    arrays = (a for a in jax.tree.leaves(args) if isinstance(a, jax.Array))
    return next((d.client for a in arrays for d in a.devices()), None)


def _device_ids(run: Any) -> list[int]:
    """Return the ids of the devices of a program, in the program's order."""
    sharding = jax.tree.leaves(run.input_shardings)[0]
    # only a sharding on a mesh has an order of its devices
    if hasattr(sharding, "mesh"):
        return [d.id for d in sharding.mesh.devices.flat]
    return sorted(d.id for d in sharding.device_set)


def _load(file: Path, client: Any) -> Any:
    """Return a program; None if it is absent, broken, or of different devices."""
    # any exception: a pickle of another version or a truncated file may raise any
    try:
        ids, (data, in_tree, out_tree) = pickle.loads(cache_folder.read(file) or b"")
        present = jax.devices() if client is None else client.devices()
        by_id = {d.id: d for d in present}
        devices = [by_id[i] for i in ids]
        # JAX looks up the functions of LAPACK when it lowers a call of one, which a
        # process that only reads programs never does: they would call null pointers
        # (github.com/jax-ml/jax/issues/28908). It takes 0.1 s, so not for all programs.
        if b"lapack_" in data:
            private_jax.initialize_lapack()
        return private_jax.deserialize_and_load(
            data, in_tree, out_tree, devices[0].client, devices
        )
    except Exception:
        return None


def _store(file: Path, run: Any) -> None:
    """Write a program if possible: a full disk is no reason to stop a solve."""
    try:
        data = pickle.dumps((_device_ids(run), private_jax.serialize(run)))
        cache_folder.write(file, data)
    except Exception:
        return


def read_entry(key: object) -> bytes | None:
    """Return what was kept under a key for this environment; None: nothing."""
    folder = cache_dir()
    try:
        return cache_folder.read(_entry_file(folder, key)) if folder else None
    except OSError:
        return None


def write_entry(key: object, data: bytes) -> None:
    """Keep data under a key for the next process in this environment, if possible."""
    folder = cache_dir()
    with suppress(OSError):
        if folder is not None:
            cache_folder.write(_entry_file(folder, key), data)


def _entry_file(folder: Path, key: object) -> Path:
    return folder / f"{fingerprint((key, _environment()))}.entry"


def _environment() -> tuple[Any, ...]:
    """Return all values besides the function that a compiled program depends on."""
    return (
        *(getattr(jax.config, name) for name in JAX_SETTINGS),
        *(jax.__version__, jaxlib.__version__, platform.python_version()),
        *(_source_digest(), _cpu_model()),
        # a program names its devices by number
        *(len(jax.devices()), os.environ.get("XLA_FLAGS")),
    )


@cache
def _source_digest() -> str:
    """Return a digest of all sources of posewise."""
    digest = hashlib.sha256()
    root = Path(__file__).absolute().parents[1]
    for folder, folders, files in os.walk(root, followlinks=True):
        folders.sort()
        for name in sorted(files):
            # names too: a module that is renamed changes the names in fingerprints
            if name.endswith(".py"):
                file = Path(folder, name)
                digest.update(f"{file.relative_to(root)}\n".encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()


@cache
def _cpu_model() -> str:
    """Return the model and the instruction sets of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError):
        return f"{platform.machine()} {platform.processor()}"
    return "\n".join(
        sorted({s for s in lines if s.startswith(("model name", "flags"))})
    )

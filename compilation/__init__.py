"""Program compilation for XLA: one-kernel programs, packing and a program cache.

`compile_program` is the entry point; with POSEWISE_PLAIN_JIT=1 it is `jax.jit` with
static arguments. This package imports no other part of posewise.
"""

from .arrays import Array as Array
from .plain_jit import PlainJit as PlainJit
from .plain_jit import uses_plain_jit as uses_plain_jit
from .program import compile_program as compile_program
from .single_kernel import StaticJit as StaticJit

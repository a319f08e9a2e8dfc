"""The one function by which posewise compiles its programs."""

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar, cast, runtime_checkable

from .plain_jit import PlainJit, uses_plain_jit
from .single_kernel import StaticJit

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


@runtime_checkable
class CompiledProgram(Protocol[P, R_co]):
    """A compiled function, with the signature of the function."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Run the program, compiled if its static arguments or shapes are new."""
        ...

    def num_compilations(self) -> int:
        """Return the number of programs that have been compiled."""
        ...


def compile_program(
    fn: Callable[P, R_co],
    *,
    num_static: int = 1,
    is_large: Callable[..., bool] = lambda *static: False,
    transform: Callable[..., Callable[..., Any]] = lambda run, *static: run,
    packs: Sequence[int] = (),
    fetches: bool = False,
    has_kernels: bool = True,
) -> CompiledProgram[P, R_co]:
    """Return a function that is compiled once for each value of its static arguments.

    On CPUs the program is one kernel where possible, because XLA otherwise spends most
    of the time of a small problem on starting kernels. POSEWISE_PLAIN_JIT=1 replaces
    this, as all other work-arounds for XLA, by `jax.jit` with static arguments.

    Within the function, `subprogram` and `defer` mark the parts of a large program,
    `pack` and `unpack` pass pytrees between them, and `materialize` keeps XLA from
    computing a value at each of its uses.

    Args:
        fn: the function.
        num_static: number of leading arguments that are hashable instead of arrays.
        is_large: of the static arguments, whether each subprogram is compiled as a
            separate kernel, which takes LLVM less time.
        transform: maps the function without its static arguments, and these, to the
            function that is compiled: for example the same on several devices.
        packs: indices of the arguments that are packed into few buffers before the
            call. Their arrays may not be changed between calls.
        fetches: whether the result is awaited and returned as NumPy arrays. Otherwise
            it may be packed.
        has_kernels: whether CPUs compute it in one kernel, or in one for each part.
            Programs of many large arrays compile and run sooner without.
    """
    if uses_plain_jit():
        program: Any = PlainJit(fn, num_static, transform, fetches)
    else:
        program = StaticJit(
            fn, num_static, is_large, transform, packs, fetches, has_kernels
        )
    return cast("CompiledProgram[P, R_co]", program)

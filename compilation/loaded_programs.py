"""Programs that are loaded in this process: those used last.

A path's solver takes some 60 MiB, and 40 of the 65530 maps of memory that Linux gives a
process. So the programs of all functions are in one order of use. A program that is
dropped and called again is read from the program cache, or compiled.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, Protocol, runtime_checkable

import jax
from jaxtyping import PyTree

MAX_PROGRAMS = 64
"""Number of values of the static arguments of a function whose programs are kept, the
last used; more take more memory, fewer are compiled or read again more often."""
MAX_LOADED_PROGRAMS = 128
"""Number of programs of all functions that are kept, the last used; more take more
memory, fewer are compiled or read again more often."""
MAX_JITTED_SHAPES = 16
"""Number of shapes of arguments for which `jax.jit` keeps programs of one function; of
more, all are dropped, since it keeps no order. Fewer are compiled again more often."""


class LoadedPrograms:
    """The order in which programs were last used, and how each is dropped."""

    def __init__(self) -> None:
        self._drops: OrderedDict[object, Callable[[], None]] = OrderedDict()
        """By program, the last used at the end."""
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._drops)

    def use(self, program: object, drop: Callable[[], None]) -> None:
        """Note the use of a program, and drop those whose last use is longest ago.

        Args:
            program: any object that stands for it.
            drop: takes the program away from where it is called; it may run in any
                thread that uses a program.
        """
        oldest = []
        with self._lock:
            self._drops[program] = drop
            self._drops.move_to_end(program)
            while len(self._drops) > MAX_LOADED_PROGRAMS:
                oldest.append(self._drops.popitem(last=False)[1])
        for drop_oldest in oldest:
            drop_oldest()

    def forget(self, program: object) -> None:
        """Forget a program that has been dropped elsewhere."""
        with self._lock:
            self._drops.pop(program, None)


LOADED_PROGRAMS = LoadedPrograms()
"""The programs of this process."""


@runtime_checkable
class CompiledFunction(Protocol):
    """A function of arrays with a program for each of their structures and shapes."""

    def __call__(self, *args: PyTree) -> Any: ...

    def num_compilations(self) -> int:
        """Return the number of programs that have been compiled or read."""
        ...

    def drop(self) -> None:
        """Drop all programs; a further call compiles or reads them again."""
        ...


class JittedFunction:
    """A function whose programs `jax.jit` keeps, dropped all together.

    In the order of use they count as one.
    """

    def __init__(self, jitted: jax.stages.Wrapped) -> None:
        # its cache is no part of the public interface
        self.jitted: Any = jitted
        self.num_dropped = 0

    def __call__(self, *args: PyTree) -> Any:
        LOADED_PROGRAMS.use(self, self._clear)
        if self.jitted._cache_size() > MAX_JITTED_SHAPES:
            self._clear()
        return self.jitted(*args)

    def num_compilations(self) -> int:
        """Return the number of programs that have been compiled."""
        return self.num_dropped + int(self.jitted._cache_size())

    def drop(self) -> None:
        """Drop all programs; a further call compiles them again."""
        LOADED_PROGRAMS.forget(self)
        self._clear()

    def _clear(self) -> None:
        self.num_dropped += self.jitted._cache_size()
        self.jitted.clear_cache()


class FunctionPrograms:
    """Programs of one function by its static arguments, those used last."""

    def __init__(self) -> None:
        self.by_static: OrderedDict[tuple[Hashable, ...], CompiledFunction] = (
            OrderedDict()
        )
        """By static arguments, the last used at the end."""
        self._num_dropped = 0
        self._lock = Lock()

    def get(
        self, static: tuple[Hashable, ...], make: Callable[[], CompiledFunction]
    ) -> tuple[CompiledFunction, bool]:
        """Return the program for static arguments, and whether it is new.

        Args:
            static: the arguments.
            make: makes the program if there is none.
        """
        with self._lock:
            program = self.by_static.pop(static, None)
            is_new = program is None
            if program is None:
                program = make()
                while len(self.by_static) >= MAX_PROGRAMS:
                    _, oldest = self.by_static.popitem(last=False)
                    self._num_dropped += oldest.num_compilations()
                    oldest.drop()
            # inserted again, so that the last used program is the last to be dropped
            self.by_static[static] = program
        return program, is_new

    def num_compilations(self) -> int:
        """Return the number of programs that have been compiled or read."""
        present = [*self.by_static.values()]
        return self._num_dropped + sum(p.num_compilations() for p in present)

"""Random mutations of files, and limits on the cost of reading them.

Mutations are those that break parsers: bytes lost, repeated and moved, numbers out of
range, words from elsewhere in the file, deep nesting, and names of files that the
reader must not open.
"""

import re
import resource
import signal
import sys
import sysconfig
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import posewise as pw

SECONDS = 20.0
"""Processor time for one file [s]; checks of types in tests take 5 s and more."""
PATIENCE = 120
"""Wall time after which a reader counts as hanging [s]."""
BYTES = 2**30
"""Memory for one file [bytes]."""

NUMBER = re.compile(rb"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
WORD = re.compile(rb"[A-Za-z_][\w./-]*")
STRANGE = rb"""nan inf -inf 1e308 -1e308 1e400 1e-320 0 -0.0 -1 2147483648 1e18
99999999999999999999999 0x10 1_000 1e+ . - 3,4 true null ~ {} [] () "" '' \\ \x00
../../../../etc/passwd /etc/passwd ~/.ssh/id_rsa file:///etc/hostname http://localhost/x
<include> & % @ $HOME ${x} *a &a !!python/object:os.system <!-- ]]> \xff\xfe""".split()
DEEP = [
    b"(",
    b"[",
    b"{",
    b"<a>",
    b"<link>",
    b"<body>",
    b"(and ",
    b"- ",
    b"a: {",
    b"~(",
    b"not ",
]


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """Return a file after a few mutations."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        data = MUTATIONS[rng.integers(len(MUTATIONS))](data, rng)
    return data


def _span(data: bytes, rng: np.random.Generator) -> tuple[int, int]:
    a = int(rng.integers(len(data) + 1))
    longest = 1 << int(rng.integers(1, 12))
    return a, min(a + int(rng.integers(1, longest + 1)), len(data))


def _deleted(data: bytes, rng: np.random.Generator) -> bytes:
    a, b = _span(data, rng)
    return data[:a] + data[b:]


def _doubled(data: bytes, rng: np.random.Generator) -> bytes:
    a, b = _span(data, rng)
    return data[:b] + data[a:b] * int(rng.integers(1, 4)) + data[b:]


def _moved(data: bytes, rng: np.random.Generator) -> bytes:
    a, b = _span(data, rng)
    others = data[:a] + data[b:]
    c = int(rng.integers(len(others) + 1))
    return others[:c] + data[a:b] + others[c:]


def _cut(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: int(rng.integers(len(data) + 1))]


def _noise(data: bytes, rng: np.random.Generator) -> bytes:
    offsets = rng.integers(len(data) + 1, size=8).tolist()
    every = bytearray(data)
    for k in offsets:
        every[k : k + 1] = rng.bytes(1)
    return bytes(every)


def _replaced(pattern: re.Pattern[bytes]) -> Callable[..., bytes]:
    def replaced(data: bytes, rng: np.random.Generator) -> bytes:
        matches = list(pattern.finditer(data))
        if not matches:
            return data
        match = matches[rng.integers(len(matches))]
        other = matches[rng.integers(len(matches))].group()
        new = other if rng.integers(2) else STRANGE[rng.integers(len(STRANGE))]
        return data[: match.start()] + new + data[match.end() :]

    return replaced


def _nested(data: bytes, rng: np.random.Generator) -> bytes:
    offset = int(rng.integers(len(data) + 1))
    deep = DEEP[rng.integers(len(DEEP))] * int(10 ** rng.uniform(1, 4))
    return data[:offset] + deep + data[offset:]


MUTATIONS: list[Callable[[bytes, np.random.Generator], bytes]] = [
    _deleted,
    _doubled,
    _moved,
    _cut,
    _noise,
    _replaced(NUMBER),
    _replaced(NUMBER),
    _replaced(WORD),
    _replaced(WORD),
    _nested,
]

_opened: list[str] | None = None


def _hear(event: str, args: tuple) -> None:
    if _opened is not None and event == "open":
        _opened.append(str(args[0]))


sys.addaudithook(_hear)


@contextmanager
def careful(*folders: Path) -> Iterator[None]:
    """Assert that a block takes little time and memory, and opens no other files.

    Errors of the library are allowed, and so are its own warnings.
    """
    global _opened
    code = [*sys.path, sysconfig.get_path("stdlib")]
    mine = [
        Path(pw.__file__).parents[1],
        *map(Path, filter(None, code)),
        *folders,
        Path("/sys"),
    ]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    old = signal.signal(signal.SIGALRM, _hang)
    began, _opened = time.process_time(), []
    signal.alarm(PATIENCE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UserWarning)
            yield
    except pw.PosewiseError as error:
        text = str(error)
        assert text and len(text) < 3000, f"an error of {len(text)} characters"
        assert type(error) is not pw.PosewiseError
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
        opened, _opened = _opened, None
    seconds = time.process_time() - began
    assert seconds < SECONDS, f"took {seconds:.1f} s"
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < BYTES, f"took {grown / 2**20:.0f} MiB"
    for name in opened:
        path = Path(name).resolve()
        assert any(path.is_relative_to(f.resolve()) for f in mine), f"opened {name}"


def _hang(*_: object) -> None:
    raise TimeoutError(f"still reading after {PATIENCE} s")

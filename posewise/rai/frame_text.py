"""Parsing of a frame's attributes in rai's graph language."""

import tempfile
from dataclasses import replace
from pathlib import Path

from posewise.robots.loaders.gfile.reader import read_gfile
from posewise.robots.world.frame import Model


def parse_frame(name: str, args: str) -> Model:
    """Parse the attributes of a frame, `name: { args }` in rai's graph language.

    Raises:
        LoadError: for invalid attributes.
    """
    args = args.strip()
    body = args if args.startswith("{") else f"{{ {args} }}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "args.g"
        path.write_text(f"parent: {{}}\n{name} (parent): {body}\n", encoding="utf-8")
        model = read_gfile(path)
    # Drop the auxiliary parent, frame 0; its children become roots.
    frames = (replace(f, parent=(f.parent or 0) - 1) for f in model.frames[1:])
    return Model(
        tuple(replace(f, parent=None) if f.parent == -1 else f for f in frames),
        {i - 1: q for i, q in model.q.items()},
    )

"""Names and constants that tell too little; tests/test_house.py lets none be added.

    python tools/names.py            # each of them, with its place
    python tools/names.py --record   # after mending, or after files have moved

A file may have as many as `names_allowed.json` says, and a new file none. Recording
refuses counts that rise in all.
"""

import argparse
import ast
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import house

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = "collision compilation features logic objectives posewise robots solvers"
FOLDERS = f"{PRODUCT} benchmarks docs tests tools".split()
ALLOWED = Path(__file__).with_name("names_allowed.json")

VAGUE = frozenset(
    "at asked both found given gone here held kept left made none own put rest said"
    " seen taken there these those told wanted way".split()
)
"""Bindings that do not name what they hold; `left` is none where `right` is bound."""

QUANTITIES = frozenset(
    "ACCELERATION ACCURACY ANGLE ANGLES AREA ATTEMPTS BANDWIDTH BITS BOUND BYTES"
    " CANDIDATES CAPACITY CELLS CHANGE CHARACTERS CLEARANCE CODE COLUMNS CONCAVITY"
    " COST COUNT CURVATURE DAMPING DAYS DECIMALS DECREASE DEGREES DENSITY DEPTH"
    " DEVIATION DIAMETER DIGITS DIMENSION DIMENSIONS DISTANCE DURATION ENERGY"
    " EPSILON ERROR FACTOR FACTORS FORCE FRACTION FRAMES FRICTION GAIN GAP"
    " GRADIENT GRAVITY GROWTH HEADROOM HEIGHT HZ IMBALANCE INDEX INTERVAL"
    " ITERATIONS JERK LANES LARGEST LEAST LENGTH LEVEL LIMIT LIMITS LINES MARGIN"
    " MASS MAX METRES MILLIMETRES MIN MOST NANOSECONDS NODES NUM NUMBER OFFSET"
    " ORDER ORDERS OVERLAP PAIRS PASSES PENALTIES PENALTY PER PERCENT PERIOD"
    " PIXELS POINTS PORT POWER PRECISION PROBABILITY RADIANS RADII RADIUS RANGE"
    " RATE RATIO REACH RESIDUAL RESOLUTION ROUNDS ROWS SAMPLES SCALE SCALES"
    " SECONDS SEED SHARE SHARPNESS SHRINKAGE SIZE SIZES SLACK SLICES SLOPE"
    " SMALLEST SPACING SPEED STARTS STEP STEPS STIFFNESS TEMPERATURE THICKNESS"
    " THRESHOLD TIME TOLERANCE TORQUE TRADE TRIES VARIANCE VELOCITIES VELOCITY"
    " VERSION VERTICES VIOLATION VOLUME WEIGHT WEIGHTS WIDTH WINDOW WORDS".split()
)
"""Words of which a numeric constant's name has one."""

UNIT = re.compile(
    r"\[[^\]]+\]|(?i:\b(?:number|count|share|ratio|factor|multiple|times|per|relative"
    r"|percent|fraction|dimensions?|index|code|scaled units|power)\b)"
)
"""Units in the docstring of a numeric constant: in brackets, or as the number or ratio
of what."""

EFFECT = re.compile(
    r"(?i)\b(?:larger|smaller|more|less|fewer|higher|lower|longer|shorter|coarser|finer"
    r"|above|below|beyond|beneath|within|from which|until|faster|slower|stiffer|softer"
    r"|sharper|smoother|nearer|farther|so that|at most|at least|otherwise|else)\b"
)
"""Words with which the docstring of a numeric constant says what it brings about."""

CLASHES = frozenset("Box Config Feature Frame KOMO NLP Skeleton".split())
"""Names that several classes of the product have, to be given up one by one; those of
rai's face are rai's."""


def python_files() -> list[Path]:
    """Return all files whose names are judged; links are not followed."""
    files = (f for name in FOLDERS for f in sorted((ROOT / name).rglob("*.py")))
    return [f for f in files if f.resolve() == f]


def is_product(file: Path) -> bool:
    """Whether a file is part of the package."""
    return file.relative_to(ROOT).parts[0] in PRODUCT.split()


def bound_names(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and name of each variable and parameter bound below a node."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.lineno, inner.id
        elif isinstance(inner, ast.arg):
            yield inner.lineno, inner.arg


def vague_bindings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and name of each binding that does not say what it holds."""
    names = list(bound_names(tree))
    has_right = any(name == "right" for _, name in names)
    for line, name in names:
        if name in VAGUE and not (name == "left" and has_right):
            yield line, name


def is_number(node: ast.expr | None) -> bool:
    """Whether an expression is a number, or arithmetic of numbers."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    if isinstance(node, ast.BinOp):
        return is_number(node.left) and is_number(node.right)
    return False


def numeric_constants(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Yield line, name and docstring of each numeric constant of a module."""
    for node, after in zip_longest(tree.body, tree.body[1:]):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target: ast.expr = node.targets[0]
        elif isinstance(node, ast.AnnAssign):
            target = node.target
        else:
            continue
        if not isinstance(target, ast.Name) or not target.id.lstrip("_").isupper():
            continue
        if is_number(node.value):
            text = ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                text = str(after.value.value)
            yield node.lineno, target.id, text


def weak_constants(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Yield line, name and want of each numeric constant that says too little."""
    for line, name, text in numeric_constants(tree):
        if not QUANTITIES & set(name.split("_")):
            yield line, name, "constant: no quantity in its name"
        if not text:
            yield line, name, "constant: no docstring"
        elif not UNIT.search(text):
            yield line, name, "constant: docstring without a unit"
        elif not EFFECT.search(text):
            yield line, name, "constant: docstring without its effect"


def findings(file: Path) -> Iterator[tuple[int, str, str]]:
    """Yield line, name and kind of each name of a file that says too little."""
    tree = house.parse(file)
    for line, name in vague_bindings(tree):
        yield line, name, "vague binding"
    if is_product(file):
        yield from weak_constants(tree)


def count_findings() -> dict[str, dict[str, int]]:
    """Return the number of findings of each kind, by file."""
    counts = {
        str(file.relative_to(ROOT)): Counter(kind for _, _, kind in findings(file))
        for file in python_files()
    }
    return {file: dict(sorted(c.items())) for file, c in counts.items() if c}


def allowed() -> dict[str, dict[str, int]]:
    """Return how many findings of each kind each file may have."""
    return json.loads(ALLOWED.read_text("utf-8"))


def class_clashes() -> dict[str, list[str]]:
    """Return the files of each name that several classes of the product have."""
    files = defaultdict(list)
    for file in filter(is_product, python_files()):
        for node in ast.walk(house.parse(file)):
            if isinstance(node, ast.ClassDef):
                files[node.name.lstrip("_")].append(str(file.relative_to(ROOT)))
    return {name: paths for name, paths in files.items() if len(paths) > 1}


def record(counts: dict[str, dict[str, int]]) -> None:
    """Write the counts; a SystemExit if there are more of a kind than before."""
    before = sum(map(Counter, allowed().values()), Counter())
    more = sum(map(Counter, counts.values()), Counter()) - before
    if more:
        raise SystemExit(f"not recorded: there are more than before: {dict(more)}")
    lines = (f"{json.dumps(file)}: {json.dumps(n)}" for file, n in counts.items())
    ALLOWED.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def main() -> None:
    """List all findings, or record how many there are."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", action="store_true", help="write the counts")
    if parser.parse_args().record:
        return record(count_findings())
    for file in python_files():
        for line, name, kind in findings(file):
            print(f"{file.relative_to(ROOT)}:{line}: {name}: {kind}")
    for name, paths in sorted(class_clashes().items()):
        print(f"class {name}: {', '.join(paths)}")
    return None


if __name__ == "__main__":
    main()

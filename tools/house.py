"""Measures of the code's structure and language; `python tools/house.py` prints them.

tests/test_house.py asserts their limits. `python tools/house.py map` writes the map of
rooms in CONTRIBUTING.md.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FLOORS = (
    "lazy_names compilation collision robots solvers features objectives logic posewise"
)
RANK = {
    **{name: rank for rank, name in enumerate(FLOORS.split())},
    "solvers": 3,  # beside robots
}
"""A floor imports from floors of lower rank only, and from itself.

The lowest one is a module, `posewise/lazy_names.py`; the others are folders.
"""

COMMENTED = ("solvers", "collision", "features", "logic/relaxed")
"""Folders of numerics, in which comments give equations and papers."""


def product_files() -> list[Path]:
    """All modules of the package; links inside posewise/ are not followed."""
    files = [f for name in RANK for f in sorted((ROOT / name).rglob("*.py"))]
    return [f for f in files if f.resolve() == f]


@cache
def parse(file: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(file.read_text("utf-8"))


def module_name(file: Path) -> str:
    """The name under which a file is imported."""
    parts = list(file.relative_to(ROOT).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts if parts[0] == "posewise" else ["posewise", *parts])


def floor(module: str) -> str:
    """The top folder of a module."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in RANK else "posewise"


def imported(file: Path, modules: set[str]) -> Iterator[str]:
    """Modules of the package that a file names in imports, wherever they stand.

    Imports in functions and under TYPE_CHECKING count as well.
    """
    package = module_name(file).split(".")
    if file.name != "__init__.py":
        package.pop()
    for node in ast.walk(parse(file)):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name in modules)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{name}.{alias.name}"
                target = inner if inner in modules else name
                if target in modules:
                    yield target


def import_graph() -> dict[str, set[str]]:
    """For each module, the modules that it imports."""
    files = {module_name(f): f for f in product_files()}
    names = set(files)
    return {m: set(imported(f, names)) - {m} for m, f in files.items()}


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import each other, directly or through others."""
    reach: dict[str, set[str]] = {}
    for start in graph:
        reached: set[str] = set()
        todo = [start]
        while todo:
            for target in graph[todo.pop()] - reached:
                reached.add(target)
                todo.append(target)
        reach[start] = reached
    groups = {
        frozenset(b for b in reach[a] if a in reach[b]) for a in graph if a in reach[a]
    }
    return sorted(sorted(group) for group in groups)


def upward_imports(graph: dict[str, set[str]]) -> list[str]:
    """Imports of a higher floor, or of another one on the same level."""
    return [
        f"{module} imports {target}"
        for module, targets in graph.items()
        for target in sorted(targets)
        if floor(module) != floor(target) and RANK[floor(module)] <= RANK[floor(target)]
    ]


ROOMS = re.compile(r"^Rooms, the lowest first: ([^.]*)\.", re.M)
"""The sentence by which the docstring of a floor states the order of its rooms.

A room is a folder or a module directly in the floor's folder; it imports from rooms
before it only, and from itself.
"""


@cache
def rooms(floor_name: str) -> tuple[str, ...]:
    """Return the rooms of a floor in their stated order; empty where none is stated."""
    folder = ROOT / floor_name / "__init__.py"
    text = (ast.get_docstring(parse(folder)) or "") if folder.is_file() else ""
    stated = ROOMS.search(text)
    return tuple(re.findall(r"\w+", stated[1])) if stated else ()


def room(module: str) -> str:
    """The folder or module directly in its floor; empty for the floor itself."""
    parts = module.split(".")
    inside = parts[2:] if len(parts) > 1 and parts[1] in RANK else parts[1:]
    return inside[0] if inside else ""


def climbs(graph: dict[str, set[str]]) -> list[str]:
    """Imports of a room that is stated after the one that imports, or nowhere."""
    upwards = []
    for module, targets in graph.items():
        order = rooms(floor(module))
        for target in sorted(targets):
            inside = floor(module) == floor(target) and room(module)
            if order and inside and room(module) != room(target):
                if room(target) not in order[: _place(order, room(module))]:
                    upwards.append(f"{module} imports {target}")
    return upwards


def _place(order: tuple[str, ...], name: str) -> int:
    return order.index(name) if name in order else 0


def knots(graph: dict[str, set[str]]) -> list[list[str]]:
    """Rooms of a floor that import each other, directly or through others."""
    between: dict[str, set[str]] = {
        f"{floor(m)}.{room(m)}": set() for m in graph if room(m)
    }
    for module, targets in graph.items():
        for target in targets:
            ends = f"{floor(module)}.{room(module)}", f"{floor(target)}.{room(target)}"
            if ends[0] != ends[1] and set(ends) <= set(between):
                between[ends[0]].add(ends[1])
    return circles(between)


def public_functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Functions and methods without a leading underscore, and constructors."""
    holders: list[ast.Module | ast.ClassDef] = [tree]
    while holders:
        for node in holders.pop().body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                holders.append(node)
            elif isinstance(node, ast.FunctionDef):
                if not node.name.startswith("_") or node.name in (
                    "__init__",
                    "__call__",
                ):
                    yield node


def public_arguments() -> Iterator[tuple[str, bool]]:
    """Each argument of a public function, and whether its annotation is `Any`."""
    for file in product_files():
        for function in public_functions(parse(file)):
            signature = function.args
            listed = [*signature.posonlyargs, *signature.args, *signature.kwonlyargs]
            listed += [a for a in (signature.vararg, signature.kwarg) if a]
            for argument in listed:
                if argument.arg in ("self", "cls"):
                    continue
                kind = argument.annotation
                untyped = kind is None or ast.unparse(kind) in ("Any", "Any | None")
                place = f"{file.relative_to(ROOT)}:{argument.lineno}"
                yield f"{place} {function.name}({argument.arg})", untyped


def odd_docstrings() -> list[str]:
    """Docstrings that begin with "Of" or "What", or only refer to another place."""
    odd = []
    for file in product_files():
        for node in ast.walk(parse(file)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = (ast.get_docstring(node) or "").strip()
                refers = re.fullmatch(r"See [^.]*\.[^.]*\.?", text)
                if refers or re.match(r"(?:Of|What)\b", text):
                    line = text.splitlines()[0]
                    odd.append(f"{file.relative_to(ROOT)}: {line}")
    return odd


def text_without_encoding() -> list[str]:
    """Calls that read or write text in the encoding of the machine, whatever it is."""
    return [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in product_files()
        for node in ast.walk(parse(file))
        if isinstance(node, ast.Call) and asks_for_the_locale(node)
    ]


NO_TEXT_FILES = ("os", "webbrowser", "Image")
"""Modules whose function `open` reads no text."""


def asks_for_the_locale(call: ast.Call) -> bool:
    """Whether a call reads or writes text without naming an encoding."""
    named = {k.arg: k.value for k in call.keywords}
    function = call.func
    is_method = isinstance(function, ast.Attribute)
    name = getattr(function, "attr" if is_method else "id", "")
    if "encoding" in named or None in named:
        return False
    if name in ("read_text", "write_text"):
        return is_method and len(call.args) <= (name == "write_text")
    if name == "open":
        if is_method and getattr(function.value, "id", "") in NO_TEXT_FILES:
            return False
        mode = named.get("mode", (call.args[not is_method :] or [ast.Constant("r")])[0])
        return not (isinstance(mode, ast.Constant) and "b" in str(mode.value))
    return "text" in named or "universal_newlines" in named


def modules_per_folder() -> Counter[str]:
    """The number of modules directly in each folder, tests included."""
    tests = sorted((ROOT / "tests").rglob("*.py"))
    files = [*product_files(), *tests]
    return Counter(str(f.parent.relative_to(ROOT)) for f in files)


def code_lines(tree: ast.AST) -> int:
    """The number of lines of statements, without docstrings, comments and blank ones.

    Args:
        tree: a module, a class or a function.
    """
    lines: set[int] = set()
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.stmt) and not is_text:
            # A block has its own statements, which are counted by themselves.
            body: list[ast.stmt] = getattr(node, "body", [])
            end = body[0].lineno - 1 if body else node.end_lineno
            lines |= {*range(node.lineno, (end or node.lineno) + 1), node.lineno}
    return len(lines)


def longest(kind: type[ast.AST]) -> list[tuple[int, str]]:
    """The modules (`ast.Module`) or functions of the package, the longest first."""
    sizes = [
        (code_lines(node), f"{file.relative_to(ROOT)}:{getattr(node, 'name', '')}")
        for file in product_files()
        for node in ast.walk(parse(file))
        if isinstance(node, kind)
    ]
    return sorted(sizes, reverse=True)


def comment_share(folder: str) -> float:
    """The share of a folder's lines that are comments."""
    lines = [
        line.strip()
        for file in product_files()
        if file.is_relative_to(ROOT / folder)
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    return sum(line.startswith("#") for line in lines) / len(lines)


def readme() -> tuple[int, list[Path]]:
    """The number of README lines, and the pictures that it shows."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    return len(text.splitlines()), [ROOT / name for name in shown]


MAP_PAGE = ROOT / "CONTRIBUTING.md"
MAP_PLACE = re.compile(r"(?<=<!-- map of rooms -->\n).*?(?=<!-- end of map -->)", re.S)
"""The part of the page that is generated."""


def _order(file: Path) -> tuple[int, int, Path]:
    """Return where a file stands in the order of floors and rooms."""
    module = module_name(file)
    name = floor(module)
    order = ("", *rooms(name))
    place = order.index(room(module)) if room(module) in order else len(order)
    return FLOORS.split().index(name), place, file


def map_of_rooms() -> str:
    """Return a table of all packages, lowest first, with what each is for."""
    rows = ["| folder | what is in it |", "|---|---|"]
    for file in sorted(product_files(), key=_order):
        if file.name == "__init__.py":
            summary = (ast.get_docstring(parse(file)) or "").partition("\n")[0]
            rows.append(f"| `{file.parent.relative_to(ROOT)}/` | {summary} |")
    return "".join(f"{row}\n" for row in rows)


def write_map() -> None:
    """Bring the map of rooms up to date."""
    page = MAP_PAGE.read_text("utf-8")
    MAP_PAGE.write_text(MAP_PLACE.sub(lambda _: map_of_rooms(), page), "utf-8")


def main() -> None:
    """Print all measures, with what is behind those that are not yet zero."""
    graph = import_graph()
    print("import circles:", len(circles(graph)))
    for group in circles(graph):
        print("   ", len(group), " ".join(m.removeprefix("posewise.") for m in group))
    upward = upward_imports(graph)
    print("imports against the floors:", len(upward))
    print(*(f"    {line}" for line in upward), sep="\n")
    print("knots of rooms:", len(knots(graph)))
    for group in knots(graph):
        print("   ", " ".join(group))
    for name in FLOORS.split():
        if rooms(name):
            print(f"rooms of {name}:", " < ".join(rooms(name)))
    upstairs = climbs(graph)
    print("imports against the order of rooms:", len(upstairs))
    print(*(f"    {line}" for line in upstairs), sep="\n")
    arguments = list(public_arguments())
    untyped = [name for name, bad in arguments if bad]
    share = 100 * len(untyped) / len(arguments)
    counts = f"{len(untyped)}/{len(arguments)}"
    print(f"public arguments of type Any: {counts} {share:.1f} %")
    places = Counter(name.split(":")[0].rpartition("/")[0] for name in untyped)
    print(*(f"    {n} in {place}" for place, n in places.most_common()), sep="\n")
    folder, most = modules_per_folder().most_common(1)[0]
    print("most modules in a folder:", most, folder)
    print(f"lines of code: {sum(n for n, _ in longest(ast.Module)):,}")
    for kind in (ast.Module, ast.FunctionDef):
        most, name = longest(kind)[0]
        print(f"longest {kind.__name__}:", most, name)
    print("odd docstrings:", len(odd_docstrings()))
    for name in COMMENTED:
        print(f"comment lines in {name}: {100 * comment_share(name):.1f} %")
    lines, pictures = readme()
    print("README lines:", lines)
    for picture in pictures:
        kib = picture.stat().st_size / 1024 if picture.is_file() else 0
        print(f"README picture: {picture.relative_to(ROOT)} {kib:.0f} KiB")


if __name__ == "__main__":
    write_map() if sys.argv[1:] == ["map"] else main()

"""Limits of structure, types, comments and documentation (CONTRIBUTING.md)."""

import ast
import re
from pathlib import Path

import house
import names
import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.long
def test_imports_have_no_circles_and_go_one_way():
    graph = house.import_graph()
    assert house.circles(graph) == []
    assert house.upward_imports(graph) == []


def test_rooms_have_an_order():
    graph = house.import_graph()
    assert house.knots(graph) == []
    assert house.climbs(graph) == []
    for name in ("objectives", "robots", "logic"):
        inside = {house.room(m) for m in graph if house.floor(m) == name} - {""}
        assert inside - {"data"} == set(house.rooms(name)), name


def test_circles_and_upward_imports_are_found():
    graph = {
        "posewise.collision.a": {"posewise.collision.b", "posewise.robots.c"},
        "posewise.collision.b": {"posewise.collision.a"},
        "posewise.robots.c": set(),
    }
    assert house.circles(graph) == [["posewise.collision.a", "posewise.collision.b"]]
    climbs = ["posewise.collision.a imports posewise.robots.c"]
    assert house.upward_imports(graph) == climbs


def test_imports_against_the_order_of_rooms_are_found():
    graph = {
        "posewise.objectives.terms.a": {"posewise.objectives.solve.b"},
        "posewise.objectives.solve.b": {"posewise.objectives.chain.c"},
        "posewise.objectives.chain.c": {"posewise.objectives.terms.a"},
        "posewise.objectives": {"posewise.objectives.komo"},
        "posewise.objectives.komo": {"posewise.objectives.unstated"},
    }
    assert house.climbs(graph) == [
        "posewise.objectives.terms.a imports posewise.objectives.solve.b",
        "posewise.objectives.komo imports posewise.objectives.unstated",
    ]
    names = ("chain", "solve", "terms")
    assert house.knots(graph) == [[f"objectives.{name}" for name in names]]


@pytest.mark.long
def test_exact_verdicts_share_nothing_with_relaxations():
    graph = house.import_graph()
    exact = {m for m in graph if m.startswith("posewise.logic.exact")}
    # all of the floor that they import, directly or through others
    todo, reached = [*exact], {*exact}
    while todo:
        module = todo.pop()
        targets = {t for t in graph[module] if house.floor(t) == "logic"}
        assert not any(house.floor(t) == "collision" for t in graph[module]), module
        todo += targets - reached
        reached |= targets
    assert len(exact) > 10
    assert {*map(house.room, reached)} == {"errors", "exact", "geometry", "margins"}
    relaxed = {m for m in graph if m.startswith("posewise.logic.relaxed")}
    assert not exact & {t for m in relaxed for t in graph[m]}


@pytest.mark.long
def test_public_arguments_are_typed():
    arguments = list(house.public_arguments())
    untyped = [name for name, is_untyped in arguments if is_untyped]
    assert len(untyped) < 0.03 * len(arguments), "\n".join(untyped)


def test_text_files_are_utf_8_on_every_machine():
    assert house.text_without_encoding() == []


@pytest.mark.parametrize(
    ("code", "asks"),
    [
        ("path.read_text()", True),
        ("path.read_text('utf-8')", False),
        ("path.write_text(text)", True),
        ("path.write_text(text, encoding='utf-8')", False),
        ("read_text(text)", False),
        ("open(path)", True),
        ("open(path, 'w')", True),
        ("open(path, mode='rb')", False),
        ("path.open()", True),
        ("path.open('wb')", False),
        ("os.open(path, flags)", False),
        ("open(path, **options)", False),
        ("run(command, text=True)", True),
    ],
)
def test_calls_without_encoding_are_found(code, asks):
    call = ast.parse(code, mode="eval").body
    assert house.asks_for_the_locale(call) is asks


def test_folders_are_small():
    folder, count = house.modules_per_folder().most_common(1)[0]
    assert count <= 30, folder


@pytest.mark.parametrize(
    ("kind", "limit", "exceptions"),
    [
        # the table of symbols is one table
        (ast.Module, 350, ("features/table.py",)),
        (ast.FunctionDef, 75, ()),
    ],
)
@pytest.mark.long
def test_modules_and_functions_are_short(kind, limit, exceptions):
    long = [
        f"{name} {size}"
        for size, name in house.longest(kind)
        if size > limit and not name.startswith(exceptions)
    ]
    assert long == []


def test_lines_of_code_are_counted_without_docstrings():
    code = (
        '"""Doc."""\n\n\ndef f(\n    x,\n):\n    """Doc."""\n    # why\n    return x\n'
    )
    assert house.code_lines(ast.parse(code)) == 4


def test_tests_of_a_room_are_in_its_folder():
    for floor in (*house.RANK, "face"):
        source = ROOT / ("posewise" if floor == "face" else floor)
        folders = {p.parent for p in (ROOT / "tests" / floor).rglob("test_*.py")}
        for folder in folders:
            room = folder.relative_to(ROOT / "tests" / floor)
            assert (source / room / "__init__.py").is_file(), folder


def test_the_map_shows_every_room():
    (shown,) = house.MAP_PLACE.findall(house.MAP_PAGE.read_text("utf-8"))
    assert shown == house.map_of_rooms(), "python tools/house.py map writes it"
    assert not re.search(r"\|  \|", shown), "a package has no docstring"


def test_docstrings_are_sentences():
    assert len(house.odd_docstrings()) < 20


@pytest.mark.long
def test_names_say_no_less_than_before():
    allowed = names.allowed()
    more = [
        f"{file}: {count} of kind {kind!r}, at most {most}"
        for file, kinds in names.count_findings().items()
        for kind, count in kinds.items()
        if count > (most := allowed.get(file, {}).get(kind, 0))
    ]
    assert not more, "\n".join([*more, "python tools/names.py lists them"])


SOURCE = """
MAX_GAP = 0.01
\"\"\"Gap above which a pair counts as apart [m].\"\"\"
GAP = 2e-2
EDGE = 3
\"\"\"Number of corners; more are slower.\"\"\"
MAX_TILT_ANGLE = -1
\"\"\"Angle; larger ones fall.\"\"\"
MAX_SPEED: float = 2 * 3.5
\"\"\"Speed [m/s].\"\"\"
NAMES = ["a"]

def f(own, left):
    for at in own:
        held = [kept for kept in at]
    return held, left
"""


def test_names_that_say_nothing_are_found():
    tree = ast.parse(SOURCE)
    assert [n for _, n in names.vague_bindings(tree)] == "own left at held kept".split()
    assert [n for _, n, _ in names.numeric_constants(tree)] == [
        "MAX_GAP",
        "GAP",
        "EDGE",
        "MAX_TILT_ANGLE",
        "MAX_SPEED",
    ]
    assert [(n, kind) for _, n, kind in names.weak_constants(tree)] == [
        ("GAP", "constant: no docstring"),
        ("EDGE", "constant: no quantity in its name"),
        ("MAX_TILT_ANGLE", "constant: docstring without a unit"),
        ("MAX_SPEED", "constant: docstring without its effect"),
    ]


def test_left_beside_right_is_a_side():
    tree = ast.parse("left, right = 1, 2")
    assert list(names.vague_bindings(tree)) == []


def test_class_names_are_unique():
    assert set(names.class_clashes()) == names.CLASHES


@pytest.mark.parametrize("folder", house.COMMENTED)
def test_numerics_are_commented(folder):
    assert house.comment_share(folder) >= 0.03


def test_readme_is_short_and_shows_a_moving_picture():
    lines, pictures = house.readme()
    assert lines <= 150
    (picture,) = pictures
    data = picture.read_bytes()
    assert len(data) < 1.5e6
    frames = data.count(b"\x21\xf9\x04")  # graphic control extensions of a GIF
    assert data.startswith(b"GIF89a") and frames > 10


def table_rows(text: str, heading: str) -> list[dict[str, str]]:
    """The rows of the first table after a heading, by the table's column names."""
    after = text[text.index(heading) :]
    lines = re.search(r"(?m)(?:^\|.*\n)+", after)[0].splitlines()
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in lines]
    # three groups of columns have the same names; they are numbered
    names = []
    for name in cells[0]:
        names.append(name + "'" * sum(n.rstrip("'") == name for n in names))
    return [dict(zip(names, row, strict=True)) for row in cells[2:]]


def test_readme_repeats_the_measured_figures():
    readme = (ROOT / "README.md").read_text()
    results = (ROOT / "benchmarks/RESULTS.md").read_text()
    measured = {
        row["problem"].rstrip("*"): row
        for row in table_rows(results, "## `python benchmarks/komo.py`")
    }
    shown = table_rows(readme, "# posewise")
    assert len(shown) >= 5
    for row in shown:
        name = re.search(r"`(\w+)`", row["problem"])[1]
        figures = measured[name]
        options = [
            (figures["rai default: ms"], figures["success"]),
            (figures["rai manip: ms"], figures["success'"]),
        ]
        rai = min(options, key=lambda option: float(option[0]))
        assert row["rai: ms, success"] == ", ".join(rai), name
        ours = figures["posewise: ms"], figures["success''"]
        assert row["posewise: ms, success"] == ", ".join(ours), name
        assert row["ratio"] == figures["ratio"], name

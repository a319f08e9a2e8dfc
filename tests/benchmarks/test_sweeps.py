"""Choices of heuristics: each is varied by `benchmarks/sweeps.py`, with its result."""

import ast
from dataclasses import fields

import house
import pytest

PAGE = house.ROOT / "docs/evidence.md"


@pytest.fixture(scope="module")
def sweeps(benchmarks_folder):
    import sweeps

    return sweeps


def choices() -> set[str]:
    """Fields, as `Class.field`, of all classes whose docstring names the page."""
    names = set()
    # parsing all files takes seconds
    files = [f for f in house.product_files() if PAGE.name in f.read_text("utf-8")]
    for file in files:
        for node in house.parse(file).body:
            if not isinstance(node, ast.ClassDef):
                continue
            if PAGE.name in (ast.get_docstring(node) or ""):
                lines = [x for x in node.body if isinstance(x, ast.AnnAssign)]
                names |= {f"{node.name}.{ast.unparse(x.target)}" for x in lines}
    return names


def varied(sweeps) -> list[str]:
    """Fields, as `Class.field`, that are varied."""
    return [
        f"{type(sweep.choices).__name__}.{name}"
        for group in sweeps.GROUPS.values()
        for sweep in group
        for name in sweep.fields()
    ]


def test_every_choice_is_varied(sweeps):
    assert choices() == set(varied(sweeps))


def test_every_choice_has_its_line_on_the_page():
    page = PAGE.read_text("utf-8")
    assert not [name for name in choices() if f"| `{name}` |" not in page]


def test_named_fields_exist_and_can_be_changed(sweeps):
    for group in sweeps.GROUPS.values():
        for sweep in group:
            names = {field.name for field in fields(sweep.choices)}
            assert {*sweep.names, *sweep.fractions} <= names
            for name in sweep.fields():
                before = getattr(sweep.choices, name)
                other = sweeps.varied(before, 3.0, name in sweep.fractions)
                with sweeps.changed(sweep.choices, name, other):
                    assert getattr(sweep.choices, name) == other != before
                assert getattr(sweep.choices, name) == before


def test_a_name_that_is_no_field_is_an_error(sweeps):
    choices = sweeps.push.PUSH_SEARCH
    with (
        pytest.raises(AttributeError, match="max_goal"),
        sweeps.changed(choices, "max_goal", 1),
    ):
        pass


@pytest.mark.parametrize(
    ("value", "is_fraction", "third", "thrice"),
    [
        (1, False, 1, 3),
        (16, False, 5, 48),
        (0.3, False, 0.1, 0.9),
        (0.6, True, 0.2, 0.95),
        ((0.9, 0.3), True, (0.3, 0.1), (0.95, 0.9)),
    ],
)
def test_choices_keep_their_kind(sweeps, value, is_fraction, third, thrice):
    for factor, expected in zip(sweeps.FACTORS, (third, thrice), strict=True):
        other = sweeps.varied(value, factor, is_fraction)
        assert type(other) is type(value)
        assert other == pytest.approx(expected)

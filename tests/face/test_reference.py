"""docs/reference.md is up to date and complete."""

from pathlib import Path

import pytest

from posewise import FS
from posewise.reference import predicate_classes, reference

FILE = Path(__file__).parents[2] / "docs" / "reference.md"


def test_the_reference_is_up_to_date():
    assert FILE.read_text() == reference(), (
        "run: python -m posewise.reference > docs/reference.md"
    )


@pytest.mark.parametrize("name", [*FS.__members__, *predicate_classes()])
def test_each_has_a_full_row(name):
    rows = [
        line.split(" | ")
        for line in FILE.read_text().splitlines()
        if line.startswith((f"| `{name}`", f"| `{name}("))
    ]
    assert len(rows) == 1
    meaning = rows[0][-1] if name in FS.__members__ else rows[0][1]
    assert len(meaning.strip(" |")) > 10
    assert "none" not in rows[0]

"""Each page of the guide begins with what it gives, and a picture of it."""

import ast
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GUIDE = sorted(page.stem for page in (DOCS / "guide").glob("*.md"))
FROM_DEMO = {"arm", "film", "path", "placement"}
"""Pictures that `posewise demo` draws; tests/face/test_demo.py runs it."""
NOT_DRAWN = {"your_robot": "../media/fitted_robot.png"}
"""Pages whose picture needs what the site has not: here the meshes of a robot."""
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")


def drawn() -> set[str]:
    """Return the names in the table of docs/pictures.py, without drawing."""
    tree = ast.parse((DOCS / "pictures.py").read_text(encoding="utf-8"))
    tables = [
        node.value
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "PICTURES"
    ]
    assert len(tables) == 1 and isinstance(tables[0], ast.Dict)
    return {ast.literal_eval(key) for key in tables[0].keys if key is not None}


def images(page: Path) -> list[tuple[str, str]]:
    """Return the text and the file of each image of a page."""
    return IMAGE.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", GUIDE)
def test_a_page_begins_with_what_it_gives_and_a_picture(page):
    text = (DOCS / "guide" / f"{page}.md").read_text(encoding="utf-8")
    title, gives, picture = text.split("\n\n")[:3]
    assert title.startswith("# ") and gives.startswith("What you get: ")
    image = IMAGE.fullmatch(picture)
    assert image, f"{page}.md has no picture below 'What you get'."
    alt, file = image.groups()
    assert len(alt.split()) >= 5, "The text says what is to be seen."
    if page in NOT_DRAWN:
        assert file == NOT_DRAWN[page]
        assert (DOCS / "guide" / file).is_file()
    else:
        name = re.fullmatch(r"\.\./pictures/(\w+)\.png", file)
        assert name and name[1] in drawn() | FROM_DEMO


def test_pages_show_what_is_drawn_and_nothing_else():
    pages = DOCS.rglob("*.md")
    shown = {Path(file) for page in pages for _, file in images(page)}
    names = {file.stem for file in shown if file.parent.name == "pictures"}
    assert drawn() <= names <= drawn() | FROM_DEMO


def test_pages_beside_the_guide_have_their_pictures():
    for page in ("command_line", "solver"):
        files = [file for _, file in images(DOCS / f"{page}.md")]
        assert files[:1] == [f"pictures/{page}.png"]

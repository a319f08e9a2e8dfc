"""Rules of the English in docstrings, comments, messages and pages (CONTRIBUTING.md).

As a script, lists what breaks the rules: `python tests/test_prose.py [PATH ...]`.
"""

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import house
import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = "benchmarks collision compilation docs features logic objectives".split()
FOLDERS += "posewise robots solvers tests tools".split()

OPENING = re.compile(
    r"(?:Of|What|Whether|How|That|Those|It|So many|None:|Where|Which|Who|Whose|When"
    r"|See|But)\b"
)
"""Words with which no summary begins: it is a noun phrase, or begins with a verb."""

BANNED = re.compile(
    r"\b(?:shall|anew|but for|alike|minded|tells? of|things?|in the end"
    r"|of (?:its|their) own|as they are|dear|no matter|so many|so much|but one)\b",
    re.IGNORECASE,
)
"""Words for which plain technical English has better ones; see docs/glossary.md."""

ALLOWED: frozenset[str] = frozenset()
"""Files that may still break the rules; to stay empty."""


def functions_that_answer(node: ast.AST) -> bool:
    """Whether this is a function that returns truth values."""
    returns = getattr(node, "returns", None)
    return returns is not None and "bool" in ast.unparse(returns).lower()


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str, bool]]:
    """Line, text, and whether "Whether" may begin it, of each docstring."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for k, statement in enumerate(body):
            if not isinstance(statement, ast.Expr):
                continue
            value = statement.value
            documents = k == 0 or isinstance(body[k - 1], ast.Assign | ast.AnnAssign)
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                if documents:
                    answers = k == 0 and functions_that_answer(node)
                    # a field of truth values is also documented by "Whether"
                    answers |= k > 0 and "bool" in ast.unparse(body[k - 1]).lower()
                    yield value.lineno, value.value.strip(), answers


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each comment."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def messages(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of each string with several words, docstrings included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if " " in node.value:
                yield node.lineno, node.value


def faults_of_code(file: Path) -> Iterator[tuple[int, str]]:
    """Line and description of each fault in a Python file."""
    source = file.read_text()
    tree = ast.parse(source)
    for line, text, answers in docstrings(tree):
        opening = OPENING.match(text)
        if opening and not (answers and opening[0] == "Whether"):
            yield line, f"begins with {opening[0]!r}: {text.splitlines()[0]}"
    texts = list(comments(source))
    if file.is_relative_to(ROOT / "tests"):
        texts += [(line, text) for line, text, _ in docstrings(tree)]
    else:
        texts += messages(tree)
    for line, text in texts:
        yield from banned_words(line, text)


def banned_words(line: int, text: str) -> Iterator[tuple[int, str]]:
    """Line and description of each banned word in a text."""
    # a phrase may be broken by the end of a line
    for match in BANNED.finditer(re.sub(r"\n[ #]*", " ", text)):
        yield line, f"has {match[0]!r}: {text.strip().splitlines()[0][:80]}"


def faults_of_page(file: Path) -> Iterator[tuple[int, str]]:
    """Line and description of each fault in a Markdown page."""
    for line, text in enumerate(file.read_text().splitlines(), 1):
        yield from banned_words(line, text)


def faults(file: Path) -> list[str]:
    """Each fault of a file, with its place."""
    if file == Path(__file__).resolve():
        return []  # names what is banned
    pairs = faults_of_code(file) if file.suffix == ".py" else faults_of_page(file)
    return [f"{file.relative_to(ROOT)}:{line}: {text}" for line, text in sorted(pairs)]


def files(places: list[Path]) -> list[Path]:
    """All Python files and pages there; links are not followed."""
    out: list[Path] = []
    for place in places:
        inside = [place] if place.is_file() else sorted(place.rglob("*"))
        out += [f for f in inside if f.suffix in (".py", ".md") and f.is_file()]
    return [f for f in out if f.resolve() == f]


@pytest.mark.sampled
@pytest.mark.parametrize("folder", [*FOLDERS, "."])
def test_prose_keeps_the_rules(folder):
    places = [ROOT / folder] if folder != "." else sorted(ROOT.glob("*.md"))
    sentences = [
        fault
        for file in files(places)
        if str(file.relative_to(ROOT)) not in ALLOWED
        for fault in faults(file)
    ]
    assert not sentences, "\n".join(sentences)


def main() -> None:
    """List all faults in the files of the command line."""
    places = [Path(p).resolve() for p in sys.argv[1:]]
    places = places or [ROOT / f for f in FOLDERS] + sorted(ROOT.glob("*.md"))
    sentences = [fault for file in files(places) for fault in faults(file)]
    print("\n".join(sentences))
    print(len(sentences), "faults")


if __name__ == "__main__":
    main()


def test_extras_that_are_named_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    known = set(extras["project"]["optional-dependencies"])
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    texts = {f: f.read_text("utf-8") for f in (*house.product_files(), *pages)}
    named = [
        (f"{file.relative_to(ROOT)}: {extra}", extra)
        for file, text in texts.items()
        for extra in re.findall(r"\bextra `(\w+)`", text)
    ]
    assert len(named) > 10
    assert not [place for place, extra in named if extra not in known]

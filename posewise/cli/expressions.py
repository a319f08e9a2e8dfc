"""Expressions in problem files: `OnTopOf(mug, table) & ~Open(door)`, `Box([1, 2, 3])`.

They are read, not evaluated by Python: calls of what is listed, on names, numbers,
texts and lists; predicates are joined by &, | and ~.
"""

import ast
import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from posewise.logic.formulas.predicate import Predicate
from posewise.reference import kinds_of_predicates
from posewise.robots.errors import unknown_name
from posewise.robots.geometry import shapes

from .yaml_entries import Entry, shorten

MAX_EXPRESSION_LENGTH = 10_000
"""Characters of an expression."""
MAX_EXPRESSION_DEPTH = 40
"""Levels of calls within calls."""

Constructors = Mapping[str, Callable[..., Any]]


PREDICATES: Constructors = {
    name: kind
    for name, kind in kinds_of_predicates().items()
    if "body" not in inspect.signature(kind).parameters
}
"""Predicates and formulas by name, without those that need a function of names."""
SHAPES: Constructors = {
    kind.__name__: kind for kind in shapes.Shape.__args__ if kind is not shapes.Mesh
}


def read_predicate(entry: Entry, semantics: Any = None) -> Predicate:
    """The predicate that a text says, bare names standing for themselves.

    Args:
        entry: the text.
        semantics: of those predicates in it that have several and do not say which.

    Raises:
        ProblemError: for unknown predicates, with near matches, and wrong arguments.
    """
    call = _ExpressionReader(entry, "predicate", PREDICATES, semantics)
    made = call.read()
    if not isinstance(made, Predicate):
        entry.fail(f"got {shorten(made)}, expected a predicate: OnTopOf(mug, table).")
    if semantics is not None and not call.has_semantics:
        entry.fail("no predicate in it has semantics; leave them out.")
    return made


def read_shape(entry: Entry) -> Any:
    """The shape that a text says, a mesh from a file below the problem file's folder.

    Raises:
        ProblemError: for unknown shapes, with near matches, and wrong arguments.
    """

    def mesh(source: Any, mode: Any = "decompose", scale: Any = 1.0) -> shapes.Mesh:
        return shapes.Mesh(entry.path(str(source)), mode, scale)

    made = _ExpressionReader(entry, "shape", {**SHAPES, "Mesh": mesh}).read()
    if not isinstance(made, shapes.Shape):
        entry.fail(f"got {shorten(made)}, expected a shape: Box([0.1, 0.2, 0.3]).")
    return made


class _ExpressionReader:
    """A text, and what may be called in it."""

    def __init__(
        self, entry: Entry, what: str, known: Constructors, semantics: Any = None
    ):
        self.entry, self.kind, self.constructors = entry, what, known
        self.semantics, self.has_semantics = semantics, False
        self.source = ""

    def read(self) -> Any:
        example = "OnTopOf(mug, table)" if self.kind == "predicate" else "Sphere(0.1)"
        self.source = self.entry.text(f"a {self.kind}, e.g. {example}").strip()
        if len(self.source) > MAX_EXPRESSION_LENGTH:
            self.fail(f"has more than {MAX_EXPRESSION_LENGTH} characters; split it.")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(self.source, mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            problem = getattr(error, "msg", None) or "it cannot be read"
            self.fail(
                f"is no {self.kind} ({problem}); expected e.g. {example}, with quotes"
                " about names that have other characters than letters, digits and _."
            )
        return self.value(tree.body, 0)

    def fail(self, problem: str, node: Any = None) -> NoReturn:
        part = None if node is None else ast.get_source_segment(self.source, node)
        text = part or self.source
        self.entry.fail(f"{text if len(text) <= 60 else text[:57] + '...'!r} {problem}")

    def value(self, node: ast.AST, depth: int) -> Any:
        """What a part of it stands for."""
        if depth > MAX_EXPRESSION_DEPTH:
            self.fail(f"is nested deeper than {MAX_EXPRESSION_DEPTH} levels; split it.")
        match node:
            case ast.Name():
                return node.id
            case ast.Constant(value=str() | bool() | int() | float() | None):
                return node.value
            case ast.List() | ast.Tuple():
                return [self.value(part, depth + 1) for part in node.elts]
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)) if (
                isinstance(value, int | float) and not isinstance(value, bool)
            ):
                return -value
            case ast.UnaryOp(op=ast.Invert()):
                return ~self.statement(node.operand, depth)
            case ast.BinOp(op=ast.BitAnd()):
                left = self.statement(node.left, depth)
                return left & self.statement(node.right, depth)
            case ast.BinOp(op=ast.BitOr()):
                left = self.statement(node.left, depth)
                return left | self.statement(node.right, depth)
            case ast.Call():
                return self.call(node, depth)
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                self.fail("joins by words; join predicates by &, | and ~.", node)
            case ast.Attribute():
                self.fail("has dots: put such names into quotes.", node)
        self.fail(
            "is not understood; expected calls, names, numbers, texts and lists.", node
        )

    def statement(self, node: ast.AST, depth: int) -> Predicate:
        made = self.value(node, depth + 1)
        if not isinstance(made, Predicate):
            self.fail("is no predicate; &, | and ~ join predicates.", node)
        return made

    def call(self, node: ast.Call, depth: int) -> Any:
        name = ast.get_source_segment(self.source, node.func) or "?"
        if name not in self.constructors:
            self.fail(f": {unknown_name(self.kind, name, self.constructors)}", node)
        made = self.constructors[name]
        if any(isinstance(a, ast.Starred) for a in node.args):
            self.fail("has a starred argument; write them out.", node)
        arguments = [self.value(a, depth + 1) for a in node.args]
        options = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                self.fail("has a starred argument; write them out.", node)
            options[keyword.arg] = self.value(keyword.value, depth + 1)
        signature = inspect.signature(made)
        if "semantics" in signature.parameters and self.semantics is not None:
            options.setdefault("semantics", self.semantics)
            self.has_semantics = True
        try:
            signature.bind(*arguments, **options)
        except TypeError as error:
            written = ", ".join(signature.parameters)
            self.fail(f"does not fit {name}({written}): {error}.", node)
        with self.entry.locating_errors():
            return made(*arguments, **options)

"""Expressions in problem files: `OnTopOf(mug, table) & ~Open(door)`, `Box([1, 2, 3])`.

They are parsed, not evaluated by Python: only listed classes can be called, on names,
numbers, texts and lists. The operators &, | and ~ join predicates.
"""

import ast
import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from posewise.logic.formulas.predicate import Predicate
from posewise.reference import predicate_classes
from posewise.robots.errors import unknown_name
from posewise.robots.geometry import shapes

from .yaml_entries import Entry, shorten

MAX_EXPRESSION_LENGTH = 10_000
"""Largest length of an expression (characters)."""
MAX_EXPRESSION_DEPTH = 40
"""Largest number of nested calls (count)."""

Constructors = Mapping[str, Callable[..., Any]]


PREDICATES: Constructors = {
    name: kind
    for name, kind in predicate_classes().items()
    if "body" not in inspect.signature(kind).parameters
}
"""Predicates and formulas by name, without those that take a function of names."""
SHAPES: Constructors = {
    kind.__name__: kind for kind in shapes.Shape.__args__ if kind is not shapes.Mesh
}


def read_predicate(entry: Entry, semantics: str | None = None) -> Predicate:
    """Return the predicate of an expression, in which bare names are texts.

    Args:
        entry: the expression.
        semantics: semantics of all predicates in the expression that have several and
            do not choose one.

    Raises:
        ProblemError: for unknown predicates, with near matches, and wrong arguments.
    """
    reader = _ExpressionReader(entry, "predicate", PREDICATES, semantics)
    value = reader.read()
    if not isinstance(value, Predicate):
        entry.fail(f"got {shorten(value)}, expected a predicate: OnTopOf(mug, table).")
    if semantics is not None and not reader.has_semantics:
        entry.fail("no predicate in it has semantics; leave the key semantics out.")
    return value


def read_shape(entry: Entry) -> shapes.Shape:
    """Return the shape of an expression; files of meshes are in the problem's folder.

    Raises:
        ProblemError: for unknown shapes, with near matches, and wrong arguments.
    """

    def mesh(source: Any, mode: Any = "decompose", scale: Any = 1.0) -> shapes.Mesh:
        return shapes.Mesh(entry.path(str(source)), mode, scale)

    value = _ExpressionReader(entry, "shape", {**SHAPES, "Mesh": mesh}).read()
    if not isinstance(value, shapes.Shape):
        entry.fail(f"got {shorten(value)}, expected a shape: Box([0.1, 0.2, 0.3]).")
    return value


class _ExpressionReader:
    """Reader of one expression that may call some constructors."""

    def __init__(
        self,
        entry: Entry,
        kind: str,
        constructors: Constructors,
        semantics: str | None = None,
    ) -> None:
        self.entry, self.kind, self.constructors = entry, kind, constructors
        self.semantics, self.has_semantics = semantics, False
        self.source = ""

    def read(self) -> Any:
        example = "OnTopOf(mug, table)" if self.kind == "predicate" else "Sphere(0.1)"
        self.source = self.entry.text(f"a {self.kind}, such as {example}").strip()
        if len(self.source) > MAX_EXPRESSION_LENGTH:
            self.fail(f"has more than {MAX_EXPRESSION_LENGTH} characters; shorten it.")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(self.source, mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            problem = getattr(error, "msg", None) or "it cannot be read"
            self.fail(
                f"is not a {self.kind} ({problem}); expected for example {example},"
                " with quotes around names that contain other characters than letters,"
                " digits and _."
            )
        return self.value(tree.body, 0)

    def fail(self, problem: str, node: Any = None) -> NoReturn:
        """Raise a ProblemError about the expression or a part of it."""
        part = None if node is None else ast.get_source_segment(self.source, node)
        text = part or self.source
        self.entry.fail(f"{text if len(text) <= 60 else text[:57] + '...'!r} {problem}")

    def value(self, node: ast.AST, depth: int) -> Any:
        """Return the value of a part of the expression."""
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
                return ~self.predicate(node.operand, depth)
            case ast.BinOp(op=ast.BitAnd() | ast.BitOr() as operator):
                sides = (node.left, node.right)
                left, right = (self.predicate(side, depth) for side in sides)
                is_and = isinstance(operator, ast.BitAnd)
                return left & right if is_and else left | right
            case ast.Call():
                return self.call(node, depth)
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                self.fail("uses and, or, not; join predicates by &, | and ~.", node)
            case ast.Attribute():
                self.fail("has dots; put names with dots into quotes.", node)
        self.fail(
            "is not supported; expected calls, names, numbers, texts and lists.", node
        )

    def predicate(self, node: ast.AST, depth: int) -> Predicate:
        """Return the value of a part that must be a predicate."""
        value = self.value(node, depth + 1)
        if not isinstance(value, Predicate):
            self.fail("is not a predicate, but &, | and ~ join predicates.", node)
        return value

    def call(self, node: ast.Call, depth: int) -> Any:
        """Return the value of a call."""
        name = ast.get_source_segment(self.source, node.func) or "?"
        if name not in self.constructors:
            self.fail(f": {unknown_name(self.kind, name, self.constructors)}", node)
        constructor = self.constructors[name]
        if any(isinstance(a, ast.Starred) for a in node.args):
            self.fail("has a starred argument; write each argument.", node)
        arguments = [self.value(a, depth + 1) for a in node.args]
        options = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                self.fail("has a starred argument; write each argument.", node)
            options[keyword.arg] = self.value(keyword.value, depth + 1)
        signature = inspect.signature(constructor)
        if "semantics" in signature.parameters and self.semantics is not None:
            options.setdefault("semantics", self.semantics)
            self.has_semantics = True
        try:
            signature.bind(*arguments, **options)
        except TypeError as error:
            parameters = ", ".join(signature.parameters)
            self.fail(f"does not fit {name}({parameters}): {error}.", node)
        with self.entry.locating_errors():
            return constructor(*arguments, **options)

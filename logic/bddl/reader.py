"""The reader of BDDL: S-expressions of words, each with its location in the text."""

import re
from typing import NamedTuple, TypeAlias

from posewise.robots.errors import LoadError

TOKEN_PATTERN = re.compile(r"[()]|[^\s()]+")
"""A parenthesis, or a word without spaces and parentheses."""


class TokenLocation(NamedTuple):
    """A place in a text; lines and columns count from 1."""

    source: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.source}, line {self.line}, column {self.column}"


class Word(str):
    """A word, in lower case."""

    location: TokenLocation


class Form(tuple):
    """Words and forms within parentheses, which `str` writes, too."""

    location: TokenLocation

    def __str__(self) -> str:
        return f"({' '.join(map(str, self))})"


Expression: TypeAlias = Form | Word


def read_form(text: str, source: str = "text") -> Form:
    """Return the one form of which a text consists.

    Comments run from ; to the end of a line.

    Args:
        text: in which upper and lower case are the same.
        source: name of the text in error messages.

    Raises:
        LoadError: if parentheses do not match, or there is not exactly one form; names
            line and column.
    """
    forms: list[Expression] = []
    # For each parenthesis that is still open: its location, and the forms before it.
    unclosed: list[tuple[TokenLocation, list[Expression]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        for token in TOKEN_PATTERN.finditer(line.partition(";")[0].lower()):
            location = TokenLocation(source, number, token.start() + 1)
            if token[0] == "(":
                unclosed.append((location, forms))
                forms = []
            elif token[0] == ")":
                if not unclosed:
                    raise LoadError(f"{location}: ')' closes nothing; remove it.")
                location, outer = unclosed.pop()
                form = Form(forms)
                form.location = location
                outer.append(form)
                forms = outer
            else:
                word = Word(token[0])
                word.location = location
                forms.append(word)
    if unclosed:
        raise LoadError(f"{unclosed[-1][0]}: '(' is never closed.")
    if len(forms) != 1 or not isinstance(forms[0], Form):
        content = f"{len(forms)} expressions" if forms else "nothing"
        location = forms[-1].location if forms else TokenLocation(source, 1, 1)
        raise LoadError(f"{location}: there is {content}, expected one (define ...).")
    return forms[0]

"""The reader of BDDL: parentheses and words, each with the place where it stands."""

import re
from typing import NamedTuple

from posewise.robots.errors import LoadError

TOKEN_PATTERN = re.compile(r"[()]|[^\s()]+")


class SourceLocation(NamedTuple):
    """Where something stands in a text; lines and columns count from 1."""

    source: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.source}, line {self.line}, column {self.column}"


class Word(str):
    """A word, in lower case."""

    location: SourceLocation


class Form(tuple):
    """Words and forms that stand in parentheses; written as such by `str`."""

    location: SourceLocation

    def __str__(self) -> str:
        return f"({' '.join(map(str, self))})"


Expression = Form | Word


def read_form(text: str, source: str = "text") -> Form:
    """The one form that a text consists of; comments run from ; to the end of a line.

    Args:
        text: in which upper and lower case are the same.
        source: what errors call the text.

    Raises:
        LoadError: for parentheses that do not match, and more or less than one form;
            names line and column.
    """
    forms: list[Expression] = []
    open_: list[tuple[SourceLocation, list[Expression]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        for token in TOKEN_PATTERN.finditer(line.partition(";")[0].lower()):
            place = SourceLocation(source, number, token.start() + 1)
            if token[0] == "(":
                open_.append((place, forms))
                forms = []
            elif token[0] == ")":
                if not open_:
                    raise LoadError(f"{place}: ')' closes nothing; remove it.")
                place, outer = open_.pop()
                form = Form(forms)
                form.location = place
                outer.append(form)
                forms = outer
            else:
                word = Word(token[0])
                word.location = place
                forms.append(word)
    if open_:
        raise LoadError(f"{open_[-1][0]}: '(' is never closed.")
    if len(forms) != 1 or not isinstance(forms[0], Form):
        what = f"{len(forms)} expressions" if forms else "nothing"
        place = forms[-1].location if forms else SourceLocation(source, 1, 1)
        raise LoadError(f"{place}: there is {what}, expected one (define ...).")
    return forms[0]

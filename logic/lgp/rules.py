"""Rules of decisions: reading rai's files, and applying rules to states.

A fact is a tuple of a predicate and its arguments, ("on", "table", "mug"); a state is a
set of facts. A rule has variables, conditions and effects.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from posewise.robots.errors import LoadError

Fact = tuple[str, ...]
State = frozenset[Fact]
Decision = tuple[str, ...]
"""Name of a rule, then the values of its variables, in order."""

_TOKEN = re.compile(r"[{}():!,]|[^\s{}():!,]+")


@dataclass(frozen=True)
class Literal:
    """A fact that may have variables, or its absence."""

    fact: Fact
    is_positive: bool = True


@dataclass(frozen=True)
class Rule:
    """A rule: with values of its variables that meet the conditions, effects follow."""

    name: str
    variables: tuple[str, ...]
    conditions: tuple[Literal, ...]
    effects: tuple[Literal, ...]
    """Facts that become true, and negated ones that become false."""
    is_decision: bool = True
    """Whether the rule is a decision; others are applied by themselves."""

    def values(self, state: State) -> Iterator[dict[str, str]]:
        """Yield all values of the variables with which the conditions hold."""
        positive = [c.fact for c in self.conditions if c.is_positive]
        negative = [c.fact for c in self.conditions if not c.is_positive]
        for values in _matches(positive, self.variables, sorted(state), {}):
            if not any(substitute(fact, values) in state for fact in negative):
                yield values

    def apply(self, state: State, values: Mapping[str, str]) -> State:
        """Return the state after the effects; what becomes true stays true."""
        facts = [
            (substitute(e.fact, values), e.is_positive)
            for e in sorted(self.effects, key=lambda effect: effect.is_positive)
        ]
        for fact, is_positive in facts:
            state = state | {fact} if is_positive else state - {fact}
        return state

    def decision(self, values: Mapping[str, str]) -> Decision:
        """Return the name of the rule with the values of its variables."""
        return (self.name, *(values[v] for v in self.variables))


def substitute(fact: Fact, values: Mapping[str, str]) -> Fact:
    """Return a fact with values in place of variables."""
    return tuple(values.get(word, word) for word in fact)


def _matches(
    facts: list[Fact],
    variables: tuple[str, ...],
    state: list[Fact],
    values: dict[str, str],
) -> Iterator[dict[str, str]]:
    """Yield values with which all facts are in the state, of those that agree."""
    if not facts:
        yield values
        return
    pattern = substitute(facts[0], values)
    for fact in state:
        if len(fact) != len(pattern):
            continue
        new = dict(values)
        for term, word in zip(pattern, fact, strict=True):
            if term != word and (term not in variables or term in new):
                break
            if term != word:
                new[term] = word
        else:
            yield from _matches(facts[1:], variables, state, new)


def parse_rules(text: str, source: str = "rules") -> tuple[Rule, ...]:
    """Return the rules of a text in the language of rai's `.fol` files.

    These are the entries `DecisionRule name { X, Y, { conditions } { effects } }` and
    `Rule name …`; all else is left out. `(on X Y)!` is a negation.

    Raises:
        LoadError: for a rule that is not written so.
    """
    tokens = _TOKEN.findall(re.sub(r"#.*", "", text))
    rules = []
    for k, token in enumerate(tokens):
        if token in ("DecisionRule", "Rule"):
            rules.append(_parse_rule(tokens[k:], source))
    if not rules:
        raise LoadError(f"{source}: there is no DecisionRule.")
    return tuple(rules)


def parse_facts(text: str) -> tuple[Literal, ...]:
    """Return the literals of a text, `(on a b) (busy c)!`.

    Raises:
        LoadError: for a fact without its last bracket.
    """
    return _literals(_TOKEN.findall(text))


def _parse_rule(tokens: list[str], source: str) -> Rule:
    """Return the rule that begins at the first token."""
    name = " ".join(tokens[1:2])
    try:
        opened = tokens.index("{") + 1
        first = tokens.index("{", opened)
        first_end = tokens.index("}", first)
        second = tokens.index("{", first_end)
        second_end = tokens.index("}", second)
    except ValueError:
        raise LoadError(
            f"{source}: the rule {name!r} is not written as"
            " { variables { conditions } { effects } }."
        ) from None
    words = [t for t in tokens[opened:first] if t not in (",", ":", "pre")]
    conditions = _literals(tokens[first:first_end])
    effects = _literals(tokens[second:second_end])
    named = {w for c in conditions if c.is_positive for w in c.fact}
    if loose := [w for w in words if w not in named]:
        raise LoadError(
            f"{source}: no positive condition of the rule {name!r} names {loose}."
        )
    return Rule(name, tuple(words), conditions, effects, tokens[0] == "DecisionRule")


def _literals(tokens: list[str]) -> tuple[Literal, ...]:
    literals, k = [], 0
    while "(" in tokens[k:]:
        start = tokens.index("(", k)
        if ")" not in tokens[start:]:
            fact = " ".join(tokens[start + 1 :])
            raise LoadError(
                f"The fact '({fact}' has no last bracket; write '({fact})'."
            )
        k = tokens.index(")", start) + 1
        is_positive = tokens[k : k + 1] != ["!"]
        literals.append(Literal(tuple(tokens[start + 1 : k - 1]), is_positive))
    return tuple(literals)

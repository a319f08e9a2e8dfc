"""Plans: sequences of decisions that reach a goal, the shortest first."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from .rules import Decision, Literal, Rule, State

Plan = tuple[Decision, ...]


def plans(
    rules: Sequence[Rule],
    state: State,
    goal: Sequence[Literal],
    max_steps: int,
    is_open: Callable[[Plan], bool],
) -> Iterator[Plan]:
    """Yield all plans that reach a goal, the shortest first, without returns.

    Args:
        rules: the rules.
        state: the facts at the beginning.
        goal: literals that hold at the end; a plan ends where they hold.
        max_steps: largest number of decisions.
        is_open: whether a plan that has just been reached is to be followed; it is
            asked in the order of the search, before plans that go on from there.
    """
    decisions = [rule for rule in rules if rule.is_decision]
    others = [rule for rule in rules if not rule.is_decision]
    queue: deque[tuple[Plan, tuple[State, ...]]] = deque([((), (state,))])
    while queue:
        plan, states = queue.popleft()
        if plan and not is_open(plan):
            continue
        if _holds(goal, states[-1]):
            yield plan
            continue
        if len(plan) == max_steps:
            continue
        for rule in decisions:
            for values in rule.values(states[-1]):
                after = _closed(rule.apply(states[-1], values), others)
                if after not in states:
                    queue.append(((*plan, rule.decision(values)), (*states, after)))


def _holds(goal: Iterable[Literal], state: State) -> bool:
    return all((g.fact in state) == g.is_positive for g in goal)


def _closed(state: State, rules: Sequence[Rule]) -> State:
    """Return a state with all that follows from it by rules that are no decisions."""
    while True:
        before = state
        for rule in rules:
            for values in rule.values(state):
                state = rule.apply(state, values)
        if state == before:
            return state

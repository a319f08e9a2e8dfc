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

    Only plans that reach the goal are asked about, each from its beginning on: what
    does not lead there is never solved for.

    Args:
        rules: the rules.
        state: the facts at the beginning.
        goal: literals that hold at the end; a plan ends where they hold.
        max_steps: largest number of decisions.
        is_open: whether the beginning of a plan has a solution; it is asked once.
    """
    decisions = [rule for rule in rules if rule.is_decision]
    others = [rule for rule in rules if not rule.is_decision]
    queue: deque[tuple[Plan, tuple[State, ...]]] = deque([((), (state,))])
    open_by_plan: dict[Plan, bool] = {}

    def begins_open(plan: Plan) -> bool:
        for k in range(1, len(plan) + 1):
            if plan[:k] not in open_by_plan:
                open_by_plan[plan[:k]] = is_open(plan[:k])
            if not open_by_plan[plan[:k]]:
                return False
        return True

    while queue:
        plan, states = queue.popleft()
        beginnings = (plan[:k] for k in range(1, len(plan) + 1))
        if not all(open_by_plan.get(beginning, True) for beginning in beginnings):
            continue
        if _holds(goal, states[-1]):
            if begins_open(plan):
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

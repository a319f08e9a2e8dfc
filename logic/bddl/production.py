"""Making what does not exist yet, by rules whose inputs are in the world."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from posewise.robots.annotations.objects import WorldObject
from posewise.robots.config import Config

from ..formulas.predicate import Predicate
from ..states.dirt_predicates import Covered
from ..states.existence_predicates import Real
from ..states.thermal_predicates import Cooked
from ..states.water_predicates import Contains
from .taxonomy import substance_name
from .transition_rules import TransitionRule, is_of_kind, rules_making, rules_using


@dataclass(frozen=True)
class Stock:
    """The objects and substances that rules have used up and made so far."""

    used: frozenset[str] = frozenset()
    """Names of the objects that were used up."""
    spare: Mapping[str, int] = field(default_factory=dict)
    """Numbers of products that nothing has taken yet."""
    substances: frozenset[str] = frozenset()
    """Substances that were made."""

    def add(self, kind: str, number: int) -> "Stock":
        """Return the stock with more of a product."""
        return replace(
            self, spare={**self.spare, kind: self.spare.get(kind, 0) + number}
        )


@dataclass(eq=False)
class Production:
    """The rules at work in a world, whose objects they use up.

    Amounts of substances are not counted: where there is some, there is enough. The
    steps of a rule, such as moving inputs into a machine, are not carried out.
    """

    world: Config
    required: Collection[str]
    """Names of the objects that must go on existing."""
    unwanted: Collection[str]
    """Names of the objects that are used up first."""
    stock: Stock = field(default_factory=Stock)

    def supply(self, substance: str) -> str:
        """Make a substance, unless there is some.

        Returns:
            Why it cannot be made; "" if there is some now.
        """
        if Real(substance).holds(self.world) or substance in self.stock.substances:
            return ""
        return self._commit(self._produce(substance, self.stock, ()))

    def make(self, name: str) -> str:
        """Make an object exist, and return why it cannot be made, if so."""
        category = self.world.objects[name].category or name
        why = self._commit(self._produce(category, self.stock, ()))
        if not why:
            Real(name).set(self.world, True)
        return why

    def use_up(self, name: str) -> str:
        """Turn an object into something else, and return why that is impossible."""
        if name in self.stock.used:
            return ""
        kind = self.world.objects[name].category or name
        reasons = [f"no rule uses {substance_name(kind)} up"]
        stock = replace(self.stock, used=self.stock.used | {name})
        for rule in rules_using(kind):
            partners = {**rule.inputs, kind: rule.inputs[kind] - 1}
            outcome = self._apply(replace(rule, inputs=partners), stock, (kind,))
            if isinstance(outcome, Stock):
                return self._commit(outcome)
            reasons.append(outcome)
        return self._commit("; or ".join(reasons[-2:]))

    def store(self, substance: str, excluded: Collection[Predicate]) -> None:
        """Put some of a substance that was made into the first container, or else onto
        the first object.

        Args:
            substance: its name.
            excluded: statements that must not become true.
        """
        existing = [o for o in self.world.objects.values() if self._exists(o.name)]
        places: list[Contains | Covered] = [
            Contains(o.name, substance) for o in existing if "fillable" in o.abilities
        ]
        places += [Covered(o.name, substance) for o in existing]
        for place in places:
            if place not in excluded:
                place.set(self.world, True)
                return

    def _commit(self, outcome: "Stock | str") -> str:
        """Use up the objects of an outcome, and return why it failed, if so."""
        if isinstance(outcome, str):
            return f"{outcome[0].upper()}{outcome[1:]}."
        for name in outcome.used - self.stock.used:
            Real(name).set(self.world, False)
        self.stock = outcome
        return ""

    def _produce(self, kind: str, stock: Stock, above: tuple[str, ...]) -> Stock | str:
        """Return the stock after a product was taken, or why it cannot be made.

        Args:
            kind: the product.
            stock: before.
            above: kinds that are made from it, which end a circle of rules.
        """
        if stock.spare.get(kind, 0) > 0:
            return stock.add(kind, -1)
        reasons = []
        for rule in rules_making(kind):
            outcome = self._apply(rule, stock, (*above, kind))
            if isinstance(outcome, Stock):
                return outcome.add(kind, -1)
            reasons.append(outcome)
        name = substance_name(kind)
        return "; or ".join(reasons[:2]) or f"no rule makes {name}"

    def _apply(
        self, rule: TransitionRule, stock: Stock, above: tuple[str, ...]
    ) -> Stock | str:
        """Return the stock after a rule was applied, or what it lacks."""
        title = f"{rule.verb} for {', '.join(map(substance_name, rule.outputs))}"
        lacks = list(self._missing_tools(rule, stock))
        if lacks:
            return f"{title} needs {' and '.join(lacks)}, and there is none"
        for kind, number in rule.inputs.items():
            for k in range(number):
                outcome = self._obtain(kind, rule.cooked.get(kind), stock, above)
                if isinstance(outcome, str):
                    name = substance_name(kind)
                    needs = f"{number} {name}, and there are {k}" if k else name
                    return f"{title} needs {needs} ({outcome})"
                stock = outcome
        for kind, number in rule.outputs.items():
            stock = stock.add(kind, number)
        substances = frozenset(filter(self._is_substance, rule.outputs))
        return replace(stock, substances=stock.substances | substances)

    def _is_substance(self, kind: str) -> bool:
        """Return whether a kind is the name of a substance, not of objects."""
        objects = self.world.objects.values()
        return "." not in kind and not any(
            is_of_kind(o.category or o.name, kind) for o in objects
        )

    def _missing_tools(self, rule: TransitionRule, stock: Stock) -> Iterator[str]:
        """Yield what is not there of a rule's tools."""
        objects = [o for o in self.world.objects.values() if self._is_free(o, stock)]
        if rule.ability and not any(rule.ability in o.abilities for o in objects):
            yield f"an object with the ability {rule.ability}"
        for synset in rule.equipment:
            if not any(o.category == synset for o in objects):
                yield synset

    def _obtain(
        self, kind: str, cooked: bool | None, stock: Stock, above: tuple[str, ...]
    ) -> Stock | str:
        """Return the stock after an input was taken, or why there is none.

        Args:
            kind: the input.
            cooked: whether it must be cooked, or must not; None: as it is.
            stock: before.
            above: kinds that are made from it.
        """
        if kind in stock.substances or Real(kind).holds(self.world):
            return stock
        if cooked and not any(
            "heatSource" in o.abilities for o in self.world.objects.values()
        ):
            return "nothing can cook it"
        fitting = [
            o.name
            for o in self.world.objects.values()
            if is_of_kind(o.category or o.name, kind)
            and self._is_free(o, stock)
            and not (cooked is False and self._is_cooked(o))
        ]
        spare = [name for name in fitting if name not in self.required]
        for name in sorted(spare, key=lambda n: n not in self.unwanted)[:1]:
            return replace(stock, used=stock.used | {name})
        if kind in above:
            return "it is made from itself"
        outcome = self._produce(kind, stock, above)
        if isinstance(outcome, str) and fitting:
            return f"{', '.join(fitting)} must go on existing"
        return outcome

    def _is_free(self, obj: WorldObject, stock: Stock) -> bool:
        """Return whether an object exists, and is not used up."""
        return obj.name not in stock.used and self._exists(obj.name)

    def _exists(self, name: str) -> bool:
        return bool(self.world.annotations.states[name].real)

    def _is_cooked(self, obj: WorldObject) -> bool:
        return "cookable" in obj.abilities and Cooked(obj.name).holds(self.world)

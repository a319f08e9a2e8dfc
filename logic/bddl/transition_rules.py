"""Rules by which objects and substances come to be: slicing, mixing, cooking, melting.

They are the rules of BEHAVIOR-1K (Li et al., 2022) in the data of bddl 3. Where no rule
there makes something, its name says how it is made: half__apple by slicing an apple.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from .taxonomy import is_substance, read_data, substance_name

TOOL_ABILITIES = {
    "slicing": "slicer",
    "dicing": "slicer",
    "melting": "heatSource",
    "substance_cooking": "heatSource",
    "substance_watercooking": "heatSource",
    "mixing_stick": "mixingTool",
    "single_toggleable_machine": None,
    "heat_cook": None,
}
"""Files of rules in bddl's data, with the ability of the tool that each needs."""
VERBS = {
    "substance_cooking": "cooking",
    "substance_watercooking": "cooking",
    "mixing_stick": "mixing",
    "single_toggleable_machine": "running a machine",
    "heat_cook": "cooking",
}
"""Verbs of the rules of a file, where its name is none."""
DERIVED_NAMES = {
    "half__": ("slicing", "slicer", 2),
    "diced__": ("dicing", "slicer", 1),
    "cooked__": ("cooking", "heatSource", 1),
    "melted__": ("melting", "heatSource", 1),
}
"""By the beginning of a name: a verb, the ability of the tool, and the yield."""


@dataclass(frozen=True)
class TransitionRule:
    """Inputs that turn into outputs, with tools that remain.

    Kinds are synsets of objects, apple.n.01, or names of substances, water.
    """

    verb: str
    """The action, "slicing"."""
    inputs: Mapping[str, int] = field(hash=False)
    """Numbers by kind of the inputs, which are used up."""
    outputs: Mapping[str, int] = field(hash=False)
    """Numbers by kind of the outputs."""
    cooked: Mapping[str, bool] = field(hash=False, default_factory=dict)
    """Whether an input must be cooked, or must not."""
    ability: str | None = None
    """Ability of the tool, if any."""
    equipment: tuple[str, ...] = ()
    """Synsets of machines, containers and heat sources, all of which are needed."""


def rules_making(kind: str) -> tuple[TransitionRule, ...]:
    """Return the rules with a kind among their outputs."""
    return _rules_by_output().get(kind, ()) or _rules_by_name(kind)


def rules_using(kind: str) -> tuple[TransitionRule, ...]:
    """Return the rules with a kind among their inputs."""
    return _rules_by_input().get(kind, ())


def is_of_kind(synset: str, kind: str) -> bool:
    """Return whether objects of a synset are of a kind."""
    return synset == kind or "." not in kind and substance_name(synset) == kind


def _rules_by_name(kind: str) -> tuple[TransitionRule, ...]:
    """Return the rule that the name of a kind implies, if any."""
    for beginning, (verb, ability, number) in DERIVED_NAMES.items():
        name = substance_name(kind)
        if name.startswith(beginning):
            source = name.removeprefix(beginning)
            # Only halves are diced.
            source = f"half__{source}" if verb == "dicing" else source
            return (TransitionRule(verb, {source: 1}, {kind: number}, {}, ability),)
    return ()


@cache
def _rules_by_output() -> dict[str, tuple[TransitionRule, ...]]:
    return _grouped([(rule.outputs, rule) for rule in _all_rules()])


@cache
def _rules_by_input() -> dict[str, tuple[TransitionRule, ...]]:
    return _grouped([(rule.inputs, rule) for rule in _all_rules()])


def _grouped(
    pairs: list[tuple[Mapping[str, int], TransitionRule]],
) -> dict[str, tuple[TransitionRule, ...]]:
    """Return rules by each kind of their side."""
    groups = defaultdict[str, list[TransitionRule]](list)
    for kinds, rule in pairs:
        for kind in kinds:
            groups[kind].append(rule)
    return {kind: tuple(rules) for kind, rules in groups.items()}


@cache
def _all_rules() -> tuple[TransitionRule, ...]:
    """Return the rules of bddl's data; none without the package."""
    return tuple(
        _parse_rule(file, entry)
        for file in TOOL_ABILITIES
        for entry in read_data(f"transition_map/tm_jsons/{file}.json") or ()
    )


def _parse_rule(file: str, entry: Mapping[str, Any]) -> TransitionRule:
    """Return one rule of a file."""
    states = {
        _kind(synset): bool(value)
        for synset, conditions in (entry.get("input_states") or {}).items()
        for state, value in conditions
        if state == "cooked"
    }
    equipment = [
        synset
        for role in ("machine", "container", "heat_source")
        for synset in entry.get(role) or ()
    ]
    inputs, outputs = (
        {_kind(synset): int(n) for synset, n in entry[side].items()}
        for side in ("input_synsets", "output_synsets")
    )
    verb = VERBS.get(file, file)
    return TransitionRule(
        verb, inputs, outputs, states, TOOL_ABILITIES[file], tuple(equipment)
    )


def _kind(synset: str) -> str:
    """Return the name of a substance, or the synset of objects."""
    return substance_name(synset) if is_substance(synset) else synset

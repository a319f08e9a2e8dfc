"""Our reading and evaluation of BDDL against those of the package bddl."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from zlib import crc32

import pytest
from helpers.bddl_texts import PACKING, definitions, problem
from helpers.bddl_worlds import kitchen, move

import posewise as pw
from posewise import logic
from posewise.logic.bddl.grammar import atoms_in
from posewise.robots.annotations.objects import WorldObject

theirs = pytest.importorskip("bddl", reason="the package bddl is not installed")
activity = pytest.importorskip("bddl.activity", reason="bddl cannot be imported")
pytestmark = pytest.mark.filterwarnings("ignore:.*does not count|.*is no section")

EMPTY = pw.Config()


@dataclass(frozen=True)
class Chance(logic.Predicate):
    """A predicate whose truth is random, but fixed for each list of terms."""

    name: str
    terms: tuple[str, ...]
    seed: int
    share: int
    """Percentage of true atoms."""

    def holds(self, C: pw.Config) -> bool:
        key = f"{self.seed} {self.name} {' '.join(self.terms)}"
        return crc32(key.encode()) % 100 < self.share

    def explain(self, C: pw.Config) -> str:
        return f"It is {self.holds(C)}."


def table(p: logic.bddl.Problem, seed: int, share: int) -> dict:
    """Predicates at random, of as many terms as the problem gives them."""
    sizes = {str(a[0]): len(a) - 1 for c in (*p.init, *p.goal) for a in atoms_in(c)}
    one = lambda name: lambda a: Chance(name, (a,), seed, share)
    two = lambda name: lambda a, b: Chance(name, (a, b), seed, share)
    return {name: (one if n == 1 else two)(name) for name, n in sizes.items()}


def conditions(p: logic.bddl.Problem) -> SimpleNamespace:
    """Return the result of bddl's own parser."""
    lists = lambda form: list(map(lists, form)) if isinstance(form, tuple) else form
    return SimpleNamespace(
        parsed_objects={k: list(v) for k, v in p.objects.items()},
        parsed_initial_conditions=lists(p.init),
        parsed_goal_conditions=lists(p.goal),
    )


def compiled(p, predicates, kind: str, scope: dict, C: pw.Config) -> list:
    """bddl's own formulas of the goal or of :init."""
    make = getattr(activity, f"get_{kind}_conditions")
    options = {}
    if "generate_ground_options" in inspect.signature(make).parameters:
        options["generate_ground_options"] = False
    backend = logic.bddl.backend(C, predicates)
    return make(conditions(p), backend, scope, **options) or []


@pytest.fixture(autouse=True)
def no_options(monkeypatch):
    """bddl 1.0.1 always expands its formulas, which takes forever for some."""
    from bddl import condition_evaluation, logic_base

    for module in (condition_evaluation, logic_base):
        for kind in vars(module).values():
            if isinstance(kind, type) and "get_ground_options" in vars(kind):
                monkeypatch.setattr(kind, "get_ground_options", lambda self: None)


def compared(p, seed: int, share: int) -> Iterator[tuple[str, bool, bool]]:
    """Each head of the goal, whether both sides agree on it, and bddl's truth."""
    predicates = table(p, seed, share)
    names = {i: i for i in p.instances}
    task = logic.bddl.Task(p, names, predicates, semantics="igibson")
    scope = {i: SimpleNamespace(name=i) for i in p.instances}
    heads = compiled(p, predicates, "goal", scope, EMPTY)
    for theirs_, ours in zip(heads, p.goal, strict=True):
        formula = task.formula(ours)
        expected = bool(theirs_.evaluate())
        same = formula.holds(EMPTY) is expected
        same = same and formula.ground(EMPTY).nnf().holds(EMPTY) is expected
        yield str(ours), same, expected


STEPS = [12, pytest.param(1, marks=pytest.mark.slow)]


@pytest.mark.parametrize("step", STEPS)
def test_definitions_are_read_as_bddl_reads_them(step):
    for name in logic.bddl.activities()[::step]:
        p = logic.bddl.load(name)
        read, ours = activity.Conditions(name, 0, p.domain), conditions(p)
        unique = {k: list(dict.fromkeys(v)) for k, v in read.parsed_objects.items()}
        assert unique == ours.parsed_objects
        assert read.parsed_initial_conditions == ours.parsed_initial_conditions
        assert read.parsed_goal_conditions == ours.parsed_goal_conditions


@pytest.mark.parametrize("step", STEPS)
def test_goals_of_the_definitions_have_the_same_truth(step):
    heads = []
    for seed, share in enumerate((30, 60, 90) if step == 1 else (70,)):
        heads += [h for p in definitions(step) for h in compared(p, seed, share)]
    assert [text for text, same, _ in heads if not same] == []
    assert len(heads) >= 280 // step
    assert 0.02 < sum(truth for *_, truth in heads) / len(heads) < 0.98


RARE = [
    "(fornpairs (1) (?x - a) (?y - b) (r ?x ?y))",
    "(fornpairs (2) (?x - b) (?y - a) (r ?x ?y))",
    "(fornpairs (3) (?x - a) (?y - b) (r ?x ?y))",
    "(forpairs (?x - a) (?y - a) (r ?x ?y))",
    "(fornpairs (2) (?x - a) (?y - a) (r ?x ?y))",
    "(forn (0) (?x - a) (p ?x))",
    "(forn (4) (?x - a) (p ?x))",
    "(forn (1) (?x - a) (exists (?y - a) (r ?x ?y)))",
    "(forall (?x - a) (forall (?x - b) (p ?x)))",
    "(forall (?a1 - b) (imply (p ?a1) (p ?a2)))",
    "(exists (?x - a) (forn (1) (?y - b) (not (r ?x ?y))))",
    "(not (forpairs (?x - a) (?y - b) (or (r ?x ?y) (and (p ?x) (p ?y)))))",
    "(imply (forall (?x - a) (p ?x)) (not (exists (?y - b) (p ?y))))",
    "(forall (?z - none) (p ?z))",
    "(exists (?z - none) (p ?z))",
    "(forpairs (?x - a) (?z - none) (r ?x ?z))",
    "(forpairs (?x - one) (?y - one) (r ?x ?y))",
    "(and (or) (and) (p a1))",
]


@pytest.mark.parametrize("goal", RARE)
def test_rare_conditions_have_the_same_truth(goal):
    objects = "a1 a2 a3 - a b1 b2 - b c - one - none"
    p = logic.bddl.parse(problem(f"(and {goal} (p a1))", objects=objects))
    for seed in range(10):
        for text, same, _ in compared(p, seed, 20 + 7 * seed):
            assert same, (text, seed)


def test_bddl_evaluates_on_a_world():
    """The states of test_goal_and_init_of_a_world, by bddl's own evaluation."""
    C, p = kitchen(), logic.bddl.load(PACKING)
    task = logic.bddl.bind(p, C, semantics="igibson")
    scope = task.scope(C)
    apple = scope["apple.n.01_1"]
    assert isinstance(apple, WorldObject) and apple.name == "apple0"
    assert apple.category == "apple.n.01"
    goal = compiled(p, task.predicates, "goal", scope, C)
    init = compiled(p, task.predicates, "initial", scope, C)
    for step in range(4):
        if step == 1:
            move(C, "apple0", -0.5)
            move(C, "apple1", -0.4)
        if step == 2:
            logic.Cooked("apple1").set(C)
        if step == 3:
            move(C, "apple1", 0.5)
        done, indices = activity.evaluate_goal_conditions(goal)
        report = task.goal_report(C)
        assert done is (not report.unsatisfied) is task.goal.holds(C) is (step == 3)
        satisfied = [k for k, f in enumerate(report.results) if f.holds]
        assert indices["satisfied"] == satisfied
        assert all(head.evaluate() for head in init) is task.init.holds(C)


@pytest.mark.slow
def test_options_of_bddl_are_grounded_by_its_own_means(monkeypatch):
    """Its options are conjunctions of atoms of ours, none of which is reached yet."""
    monkeypatch.undo()
    C, p = kitchen(), logic.bddl.load(PACKING)
    task = logic.bddl.bind(p, C, semantics="igibson")
    scope, conds = task.scope(C), conditions(p)
    backend = logic.bddl.backend(C)
    goal = activity.get_goal_conditions(conds, backend, scope)
    options = activity.get_ground_goal_state_options(conds, backend, scope, goal)
    for option in options:
        assert not activity.evaluate_goal_conditions(option)[0]
    atom = options[0][0].children[0]
    assert atom.sample(True) and atom.evaluate()


def test_unknown_predicates_are_bddls_own_error():
    from bddl.utils import UnsupportedPredicateError

    p = logic.bddl.parse(problem("(folded a1)"))
    scope = {i: SimpleNamespace(name=i) for i in p.instances}
    with pytest.raises(UnsupportedPredicateError) as error:
        compiled(p, logic.bddl.PREDICATES, "goal", scope, EMPTY)
    assert "'folded' is none of the predicates attached, broken" in str(
        error.value.predicate
    )


def test_activities():
    known = logic.bddl.activities()
    assert len(known) >= 100
    near = known[7]
    with pytest.raises(pw.LoadError, match=f"No activity '{near}_'.*'{near}'"):
        logic.bddl.load(f"{near}_")

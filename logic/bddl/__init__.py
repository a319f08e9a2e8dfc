"""BDDL, the language of the BEHAVIOR activities: parsing, binding, evaluation, solving.

Srivastava et al., "BEHAVIOR: Benchmark for everyday household activities in virtual,
interactive, and ecological environments", CoRL 2021.

>>> from posewise import logic
>>> problem = logic.bddl.load('''
... (define (problem clear_up) (:domain igibson)
...     (:objects mug.n.04_1 - mug.n.04  table.n.02_1 - table.n.02)
...     (:init)
...     (:goal (forall (?m - mug.n.04) (not (ontop ?m table.n.02_1)))))''')
>>> problem.objects["mug.n.04"]
('mug.n.04_1',)
"""

from .backend import backend as backend
from .definitions import activities as activities
from .definitions import load as load
from .predicates import PREDICATES as PREDICATES
from .problem import Problem as Problem
from .problem import parse as parse
from .scene import make_scene as make_scene
from .solving import ActivitySolution as ActivitySolution
from .solving import solve_goal as solve_goal
from .solving import solve_init as solve_init
from .task import ConditionResult as ConditionResult
from .task import Report as Report
from .task import Task as Task
from .task import bind as bind

# Made by build_stub.py.
from nsa_cli.api import Unread as Unread
from nsa_cli.api import generate as generate
from nsa_cli.api import read as read
from nsa_cli.api import read_each as read_each
from nsa_cli.api import solve as solve
from nsa_cli.api import solve_many as solve_many
from nsa_cli.contract import check_problem as check_problem
from nsa_cli.core.errors import DataError as DataError
from nsa_cli.core.errors import InputError as InputError
from nsa_cli.core.errors import NsaError as NsaError
from nsa_cli.core.errors import UsageError as UsageError
from nsa_cli.core.instance import Instance as Instance
from nsa_cli.core.neighbourhood import Budget as Budget
from nsa_cli.core.neighbourhood import Neighbourhood as Neighbourhood
from nsa_cli.core.problem import Column as Column
from nsa_cli.core.problem import Problem as Problem
from nsa_cli.core.problem import Task as Task
from nsa_cli.problems import find_problem as find_problem
from nsa_cli.problems.bin.python import bin_packing as bin_packing
from nsa_cli.problems.knapsack.python import knapsack as knapsack
from nsa_cli.problems.rosenbrock.python import rosenbrock as rosenbrock
from nsa_cli.problems.tsp.python import tsp as tsp
from nsa_cli.report.result import Result as Result
from nsa_cli.solver.settings import Settings as Settings
from nsa_cli.user.problem import UserProblem as UserProblem

__version__: str

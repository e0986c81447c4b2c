"""Problems as users write them: every kind of solutions and moves."""

from __future__ import annotations

from pathlib import Path

from nsa_cli.user import (
    UserProblem,
    assignment,
    elements,
    flip,
    gaussian,
    insert,
    move,
    permutation,
    reals,
    reassign,
    reverse,
    subset,
    swap,
)

EXAMPLES = Path(__file__).parents[1] / "examples"
MAXCUT, QAP = f"{EXAMPLES / 'maxcut.py'}:MaxCut", f"{EXAMPLES / 'qap.py'}:QAP"
FLOWSHOP, COLOURING = f"{EXAMPLES / 'flowshop.py'}:FlowShop", f"{EXAMPLES / 'colouring.py'}:Colouring"
ROUTES = f"{EXAMPLES / 'routes.py'}:CVRP"
FACILITY = f"{EXAMPLES / 'facility.py'}:Facility"
SHOWN = (MAXCUT, QAP, FLOWSHOP, COLOURING, ROUTES, FACILITY)

#: The text of a file of a problem without data, which runs in Python.
VALLEY = """from nsa_cli.user import UserProblem, gaussian, reals


class Valley(UserProblem):
    name = "valley"
    keys = ()
    solution = reals(3, -5.0, 5.0)
    moves = gaussian(1.0)
    compiled = False

    def cost(data, x):
        return float((x * x).sum())
"""


class Teams(UserProblem):
    """Put people into teams, each of whom has a cost in each team; those who are fixed stay.

    Two choices of different kinds, a plain number among the data, and forbidden candidates.
    """

    name = "teams"
    keys = ("costs", "fixed", "factor")
    solution = assignment("fixed", "fixed")
    moves = (reassign,)
    feature_names = ("cost", "own", "gain", "temperature")

    def generate(size, rng):
        return {"costs": rng.random((size, size)), "fixed": rng.integers(0, 2, size), "factor": 1.5}

    def cost(data, x):
        total = 0.0
        for i in range(len(x)):
            total += data.costs[i, x[i]]
        return data.factor * total

    def delta(data, x, move):
        person, team = move
        return data.factor * (data.costs[person, team] - data.costs[person, x[person]])

    def allowed(data, x, chosen, candidate):
        return chosen[0] >= 0 or data.fixed[candidate] == 0

    def features(data, x, chosen, candidate, temperature):
        person = chosen[0]
        if person < 0:
            return data.costs[candidate, x[candidate]], x[candidate] / 10, 0.0, temperature
        own = data.costs[person, x[person]]
        return (
            data.costs[person, candidate],
            own,
            (data.costs[person, candidate] - own) / data.scale,
            temperature,
        )


class Row(UserProblem):
    """As few and as cheap ones in a row as possible: none. No change of cost of its own."""

    name = "row"
    keys = ("prices",)
    solution = subset("prices")
    moves = (flip,)
    feature_names = ("price",)

    def generate(size, rng):
        return {"prices": rng.random(size)}

    def cost(data, x):
        total = 0.0
        for i in range(len(x)):
            if x[i]:
                total += data.prices[i]
        return total

    def features(data, x, chosen, candidate, temperature):
        return (data.prices[candidate],)


class Jobs(UserProblem):
    """Order jobs on one machine: weighted sum of squared ends. Three types of moves on one order."""

    name = "jobs"
    keys = ("times", "weights")
    solution = permutation("times")
    moves = (swap, insert, reverse)
    feature_names = ("time", "weight", "temperature")

    def generate(size, rng):
        return {"times": rng.integers(1, 10, size), "weights": rng.integers(1, 10, size)}

    def cost(data, x):
        end, total = 0, 0
        for i in x:
            end += data.times[i]
            total += data.weights[i] * end * end
        return total

    def features_swap(data, x, chosen, candidate, temperature):
        return data.times[x[candidate]], data.weights[x[candidate]], temperature

    def features_insert(data, x, chosen, candidate, temperature):
        return candidate, chosen[0], temperature

    def features_reverse(data, x, chosen, candidate, temperature):
        return 1, 2, temperature


class Bowl(UserProblem):
    """A quadratic function in a box, by coarse and by fine steps."""

    name = "bowl"
    keys = ("centre", "top")
    solution = reals("centre", -1.0, "top")
    moves = (gaussian(0.5, "coarse"), gaussian(0.01, "fine"))

    def generate(size, rng):
        return {"centre": rng.random(size), "top": 1.5}

    def cost(data, x):
        total = 0.0
        for i in range(len(x)):
            total += (x[i] - data.centre[i]) ** 2
        return total

    def delta(data, x, move):
        i, step = move
        return step * (step + 2 * (x[i] - data.centre[i]))


@move(giver=elements, taker=elements, amount="most")
def transfer(data, x, move):
    giver, taker, amount = move
    x[giver] = (x[giver] - amount) % 10
    x[taker] = (x[taker] + amount) % 10


@move(person=elements)
def rise(data, x, move):
    x[move[0]] = (x[move[0]] + 1) % 10


class Purses(UserProblem):
    """Coins in purses, near to what is wished for: moves of one's own, of three choices."""

    name = "purses"
    keys = ("wishes", "most")
    solution = assignment("wishes", 10)
    moves = (transfer, rise)

    def generate(size, rng):
        return {"wishes": rng.integers(0, 10, size), "most": 4}

    def cost(data, x):
        total = 0
        for i in range(len(x)):
            total += abs(x[i] - data.wishes[i])
        return total

    def allowed_transfer(data, x, chosen, candidate):
        return chosen[0] < 0 or chosen[1] >= 0 or candidate != chosen[0]


#: With learnt policies, and all.
LEARNING, ALL = (Teams, Row, Jobs), (Teams, Row, Jobs, Bowl, Purses)

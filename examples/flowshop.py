"""Permutation flow shop: jobs go through all machines in the same order, and the last is to be done early.

nsa generate examples/flowshop.py:FlowShop --size 20 | nsa solve - --problem examples/flowshop.py:FlowShop
"""

from nsa_cli.user import UserProblem, insert, permutation


class FlowShop(UserProblem):
    """Machine k takes times[k][j] for job j; the jobs come in the order x."""

    name = "flowshop"
    summary = "permutation flow shop: an order of jobs on machines in a row, so that the last ends early"
    keys = ("times",)
    solution = permutation(lambda data: data.times.shape[1])
    moves = (insert,)
    scratch = "times"  # of each machine, when it ends the jobs so far
    feature_names = ("work", "first machine", "last machine", "distance of the move", "temperature")

    def cost(data, x):
        """When the last machine ends; no delta, for a change comes as dear as this."""
        machines = len(data.times)
        for k in range(machines):
            data.scratch[k] = 0
        for job in x:
            end = 0
            for k in range(machines):
                end = max(end, data.scratch[k]) + data.times[k, job]
                data.scratch[k] = end
        return data.scratch[machines - 1]

    def features(data, x, chosen, candidate, temperature):
        """Of the job at the candidate's place; how far from the first choice, as a share of all places."""
        machines, job, work = len(data.times), x[candidate], 0.0
        for k in range(machines):
            work += data.times[k, job]
        first, last = data.times[0, job], data.times[machines - 1, job]
        distance = abs(candidate - chosen[0]) / len(x) if chosen[0] >= 0 else 0.0
        return work / machines / data.scale, first / data.scale, last / data.scale, distance, temperature

    def bound(data):
        """Each machine's work, with the shortest way to it and from it."""
        found = 0
        for k in range(len(data.times)):
            before, after = data.times[:k].sum(0), data.times[k + 1 :].sum(0)
            found = max(found, before.min() + data.times[k].sum() + after.min())
        return found

    def generate(size, rng):
        """Times of 1 to 99 on five machines."""
        return {"times": rng.integers(1, 100, (5, size))}

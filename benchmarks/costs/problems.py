"""Problems as users write them, costs only: no change of a cost, no start, no bound."""

from nsa_cli.user import UserProblem, assignment, insert, permutation, reassign, reverse, swap


class Assign(UserProblem):
    """Quadratic assignment."""

    name = "assign"
    keys = ("flow", "distance")
    solution = permutation("flow")
    moves = (swap,)

    def cost(data, x):
        total = 0
        for i in range(len(x)):
            for j in range(len(x)):
                total += data.flow[i, j] * data.distance[x[i], x[j]]
        return total


class JobShop(UserProblem):
    """Operations in an order, each as early as its job and its machine are ready; the latest end counts."""

    name = "jobshop"
    keys = ("machine", "time")
    solution = permutation(lambda data: data.time.size)
    moves = (swap, insert)
    scratch = lambda data: 2 * data.time.shape[0] + data.time.shape[1]  # noqa: E731

    def cost(data, x):
        jobs, machines = data.time.shape
        ends = data.scratch  # of jobs, then steps done of jobs, then of machines
        for i in range(2 * jobs + machines):
            ends[i] = 0
        last = 0
        for operation in x:
            job = operation // machines
            step = int(ends[jobs + job])
            ends[jobs + job] += 1
            machine = 2 * jobs + data.machine[job, step]
            end = max(ends[job], ends[machine]) + data.time[job, step]
            ends[job] = end
            ends[machine] = end
            last = max(last, end)
        return last


class Routes(UserProblem):
    """Capacitated routes: customers and the separators between vehicles in one order, with a penalty."""

    name = "routes"
    keys = ("distance", "demand", "capacity", "vehicles")  # distance[0] is of the depot
    solution = permutation(lambda data: len(data.demand) + data.vehicles - 1)
    moves = (swap, insert, reverse)

    def cost(data, x):
        total, load, last = 0, 0, 0
        for customer in x:
            if customer >= len(data.demand):
                total += data.distance[last, 0]
                last, load = 0, 0
            else:
                total += data.distance[last, customer + 1]
                last = customer + 1
                load += data.demand[customer]
                if load > data.capacity:
                    total += 100 * min(data.demand[customer], load - data.capacity)
        return total + data.distance[last, 0]


class Tardiness(UserProblem):
    """Jobs on one machine, weighted by how late each ends."""

    name = "tardiness"
    keys = ("p", "w", "d")
    solution = permutation("p")
    moves = (swap, insert)

    def cost(data, x):
        end, total = 0, 0
        for job in x:
            end += data.p[job]
            total += data.w[job] * max(0, end - data.d[job])
        return total


class Exams(UserProblem):
    """Exams into slots: students have one at a time and then a rest, and rooms are large enough."""

    name = "exams"
    keys = ("shared", "size", "slots", "seats")
    solution = assignment("size", "slots")
    moves = (reassign, swap)
    scratch = "slots"

    def cost(data, x):
        for slot in range(data.slots):
            data.scratch[slot] = 0
        clashes, rest = 0, 0
        for i in range(len(x)):
            data.scratch[x[i]] += data.size[i]
            for j in range(i):
                if data.shared[i, j] > 0:
                    gap = abs(x[i] - x[j])
                    if gap == 0:
                        clashes += data.shared[i, j]
                    elif gap <= 5:
                        rest += data.shared[i, j] * 2 ** (5 - gap)
        for slot in range(data.slots):
            clashes += max(0, data.scratch[slot] - data.seats)
        return 1000 * clashes + rest

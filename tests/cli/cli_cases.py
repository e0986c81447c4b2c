"""What the tests of several commands share."""

#: Little work.
QUICK = ("--steps", "50", "--chains", "2")

#: Keys of the result that scripts may rely on.
KEYS = {
    *("problem", "name", "n", "status", "stop_reason", "objective", "sense", "feasible", "solution"),
    *("bound", "gap", "best_known", "seed", "steps", "chains", "accepted", "policy", "schedule"),
    *("backend", "device", "threads", "seconds", "version"),
}

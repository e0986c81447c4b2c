"""Benchmarks of Rosenbrock's function: the temperatures; the paper prints no figures."""

from nsa_cli.core.bench import BenchContribution

contribution = BenchContribution(steps="N", temperatures={"sa": (1.0, 0.01), "es": (1.0, 0.01)})

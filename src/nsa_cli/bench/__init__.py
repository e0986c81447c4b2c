"""Benchmarks by the paper's protocol: suites, solvers, statistics, and the paper's own figures."""

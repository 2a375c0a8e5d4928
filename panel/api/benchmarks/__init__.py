"""Benchmarks in the API: what is ordered, its runs, comparisons of any runs, imports."""

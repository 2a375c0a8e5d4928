"""Pages of benchmarks: what was measured, what to measure next, and who won."""

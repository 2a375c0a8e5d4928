"""Figures of two sides compared, with what is needed to trust the answer. Pure: arrays in, verdicts
out.

The unit is what chance deals anew: a boot, or a cache that was made anew. Runs within it are
averaged, never counted. `benchmark_verdict` answers with three words, `power` says beforehand how
many units it takes, `method_check` tries both on units that do not differ.
"""

from storage.analysis.comparison.benchmark_verdict import (
    BenchmarkVerdict,
    Unit,
    Word,
    compare_units,
)
from storage.analysis.comparison.conditions import Conditions, conditions_that_differ
from storage.analysis.comparison.measured_change import MeasuredChange
from storage.analysis.comparison.rule import Rule

__all__ = [
    "BenchmarkVerdict",
    "Conditions",
    "MeasuredChange",
    "Rule",
    "Unit",
    "Word",
    "compare_units",
    "conditions_that_differ",
]

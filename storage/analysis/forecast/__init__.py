"""What a customer's volume does today, and what each plan would bring it. Pure.

`use` sums up what was measured, `today` says it in a sentence, `forecast` says what to expect.
"""

from storage.analysis.forecast.expectation import CacheChoice, Expectation
from storage.analysis.forecast.forecast import forecast, trial_offered
from storage.analysis.forecast.similar import SimilarVolume
from storage.analysis.forecast.today import Today, today
from storage.analysis.forecast.use import Stretch, Use, use

__all__ = [
    "CacheChoice",
    "Expectation",
    "SimilarVolume",
    "Stretch",
    "Today",
    "Use",
    "forecast",
    "today",
    "trial_offered",
    "use",
]

"""A volume's speed today, and a forecast for each plan. Pure.

`use` sums up the measurements, `today` puts them into a sentence, `forecast` says what to expect.
"""

from storage.analysis.forecast.expectation import CacheChoice, Expectation
from storage.analysis.forecast.firstcache import SimilarVolume
from storage.analysis.forecast.forecast import forecast, trial_offered
from storage.analysis.forecast.owntraffic import ForecastInputs, OwnTraffic, PastForecasts
from storage.analysis.forecast.today import Today, today
from storage.analysis.forecast.use import Stretch, Use, use

__all__ = [
    "CacheChoice",
    "Expectation",
    "ForecastInputs",
    "OwnTraffic",
    "PastForecasts",
    "SimilarVolume",
    "Stretch",
    "Today",
    "Use",
    "forecast",
    "today",
    "trial_offered",
    "use",
]

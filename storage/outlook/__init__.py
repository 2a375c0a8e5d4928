"""What a customer's volume does today, and what each plan would bring it. Pure.

`use` sums up what was measured, `today` says it in a sentence, `forecast` says what to expect.
"""

from storage.outlook.expectation import Choice, Expectation
from storage.outlook.forecast import forecast, trial_offered
from storage.outlook.similar import Result
from storage.outlook.today import Today, today
from storage.outlook.use import Stretch, Use, use

__all__ = [
    "Choice",
    "Expectation",
    "Result",
    "Stretch",
    "Today",
    "Use",
    "forecast",
    "today",
    "trial_offered",
    "use",
]

"""The panel's settings for the processes of these tests: what beat does about alerts every 10
and 20 seconds in production comes sooner: most of a test's time would be the wait for it."""

from panel.settings import *  # noqa: F403
from panel.settings import CELERY_BEAT_SCHEDULE as IN_PRODUCTION

ROUND_SECONDS = 3.0
HURRIED = ("alerts", "alert-messages")

CELERY_BEAT_SCHEDULE = IN_PRODUCTION | {
    name: IN_PRODUCTION[name] | {"schedule": ROUND_SECONDS} for name in HURRIED
}

"""The panel's settings for the processes of these tests: what beat begins every 5 to 30 seconds in
production comes sooner, because most of a test's time would be the wait for it."""

from panel.settings import *  # noqa: F403
from panel.settings import CELERY_BEAT_SCHEDULE as IN_PRODUCTION

ROUND_SECONDS = 3.0
HURRIED = ("alerts", "alert-messages", "webhooks", "notices")

CELERY_BEAT_SCHEDULE = IN_PRODUCTION | {
    name: IN_PRODUCTION[name] | {"schedule": ROUND_SECONDS} for name in HURRIED
}

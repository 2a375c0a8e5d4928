"""The Celery app. Tasks live in `jobs.tasks` and `panel.tasks`; every setting is `CELERY_*`."""

import os

from celery import Celery
from celery.signals import beat_init, worker_init

from storage import row_security

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panel.settings")

app = Celery("tiercel")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_init.connect
@beat_init.connect
def see_all(**given: object) -> None:
    """Worker, collector and beat act for no user, so they see all rows."""
    row_security.open_process()

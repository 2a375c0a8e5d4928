"""The Celery app. Tasks live in `jobs.tasks` and `panel.tasks`; every setting is `CELERY_*`."""

import os

from celery import Celery
from celery.signals import beat_init, task_postrun, task_prerun, worker_init
from django.db import close_old_connections
from kombu.transport import TRANSPORT_ALIASES

from jobs import life_signs
from storage import row_security

__all__ = ["app", "life_signs"]

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panel.settings")
for scheme in ("redis", "rediss"):
    TRANSPORT_ALIASES[scheme] = "panel.configuration.broker_transport:Transport"
# Celery runs Django's checks at each start and drops what they say: `migrate` has run them. They
# load every page, which takes longer than all else that a worker loads.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

app = Celery("tiercel")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_init.connect
@beat_init.connect
def see_all(**given: object) -> None:
    """Worker, collector and beat act for no user, so they see all rows."""
    row_security.open_process()


@task_prerun.connect
@task_postrun.connect
def keep_good_connections(**given: object) -> None:
    """A thread keeps its connection for CONN_MAX_AGE, and closes a broken one."""
    close_old_connections()

"""The Celery app. Tasks live in `jobs.tasks`; every setting is `CELERY_*` in the settings."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panel.settings")

app = Celery("tiercel")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

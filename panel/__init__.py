"""The composition of the panel; importing it makes the Celery app the current one."""

from panel.celery import app as celery_app

__all__ = ["celery_app"]

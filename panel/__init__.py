"""The panel: everything with a URL, everything about customers, and the wiring. Importing it makes
its Celery app the current one."""

from panel.celery import app as celery_app

__all__ = ["celery_app"]

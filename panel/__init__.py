"""The panel: everything with a URL, everything about customers, and the wiring. Importing it makes
its Celery app the current one."""

from panel.celery import app as celery_app

__all__ = ["VERSION", "celery_app"]

# Of this release, as in pyproject.toml and CHANGELOG.md. Agent and command line have their own.
VERSION = "1.0.0"

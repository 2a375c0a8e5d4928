"""Registers the jobs app."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """The verbs."""

    name = "jobs"
    default_auto_field = "django.db.models.BigAutoField"

"""Registers the panel and its system checks."""

from django.apps import AppConfig


class PanelConfig(AppConfig):
    """People, composition and checks."""

    name = "panel"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the checks; nothing else happens at start."""
        from panel import checks  # noqa: F401

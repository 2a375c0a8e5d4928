"""Registers the panel, its system checks and its static files."""

from django.apps import AppConfig
from django.contrib.staticfiles.apps import StaticFilesConfig


class PanelConfig(AppConfig):
    """People, composition and checks."""

    name = "panel"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the checks, and who listens to orders and sign-ins; nothing else happens."""
        from panel.accounts import sessions
        from panel.accounts.security_log import listeners
        from panel.billing import order_events
        from panel.deliveries.notices import notice_delivery
        from panel.languages import choice
        from panel.operations import system_checks  # noqa: F401

        choice.listen()
        order_events.connect_orders()
        notice_delivery.listen()
        listeners.connect_listeners()
        sessions.connect_sign_ins()


class StaticConfig(StaticFilesConfig):
    """Leaves out what no page loads: Tabler's `libs` even lack a source map they name."""

    ignore_patterns = [  # noqa: RUF012 - Django's type says: a list of each instance
        *StaticFilesConfig.ignore_patterns,
        "libs",
        "types",
        "editors",
        "ext",
        "scripts",
        "skills",
        "*.rtl.*",
    ]

"""How the panel's processes write their log."""

from __future__ import annotations


def lines(level: str) -> dict[str, object]:
    """Django's LOGGING: one line an entry on the console, without tokens."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
        "filters": {"tokens": {"()": "panel.configuration.log_redaction.TokenFilter"}},
        "handlers": {
            "console": {
                "class": "logging.StreamHandler",
                "formatter": "line",
                "filters": ["tokens"],
            }
        },
        "root": {"handlers": ["console"], "level": level},
        # Two lines for each message would drown what a task has to say.
        "loggers": {name: {"level": "WARNING"} for name in ("celery.beat", "celery.app.trace")},
    }

"""`manage.py translations`: compile the catalogues of `locale`."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from panel.languages.catalogues import compile_all


class Command(BaseCommand):
    """Compile what translators wrote."""

    help = "Compile the translations in locale/ (done by make and by the Docker image)."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Those that are older than their source."""
        for path in compile_all(settings.LOCALE_PATHS[0]):
            self.stdout.write(f"{path.relative_to(settings.BASE_DIR)} written")

"""`manage.py enrol NAME ADDRESS`: prints the command that enrols a storage host."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from jobs.hosts import enrolment
from storage.planner import Refused


class Command(BaseCommand):
    """`manage.py enrol NAME ADDRESS`; the same name again renews the line."""

    help = (
        "Print the enrolment command to run as root on a storage host. It works once, within an "
        "hour."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="name of the host in the panel")
        parser.add_argument("address", help="address of the host's sshd, as seen from the panel")
        parser.add_argument(
            "--port",
            type=int,
            help="by which the panel reaches it (default: a known host's own; else 22, or what the "
            "host says of itself)",
        )
        parser.add_argument(
            "--account",
            help="the system account that the line makes (default: a known host's own; else "
            "tiercel)",
        )
        parser.add_argument(
            "--public-url",
            default=settings.TIERCEL_PUBLIC_URL,
            help="URL of the panel, as seen from the host (default: %(default)s)",
        )

        parser.add_argument(
            "--new-key",
            action="store_true",
            help="replace the panel's SSH key for the host; until the line was run there, the "
            "panel cannot reach it",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        url = options["public_url"].rstrip("/")
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
            raise CommandError(f"{url} is no http(s) URL")
        try:
            _, token = enrolment.begin_enrolment(
                options["name"],
                options["address"],
                options["port"],
                options["account"],
                new_key=options["new_key"],
            )
        except Refused as refused:
            raise CommandError(f"{refused.message} {refused.correction}") from None
        if urlsplit(url).scheme != "https":
            self.stderr.write(
                "Warning: without https, an attacker between host and panel can become root on "
                "the host. Use this only on a network you trust."
            )
        self.stdout.write(enrolment.line(token, url))

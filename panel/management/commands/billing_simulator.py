"""`manage.py billing_simulator`: a billing system for trying things out."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser

from panel.billing.http_post import NoResponse
from panel.billing.simulator import Simulator
from panel.billing.simulator_state import DECISIONS


class Command(BaseCommand):
    """Answers the panel's questions and keeps invoices until it is stopped; with `--call` it makes
    one signed call instead."""

    help = "a billing system for trying things out: takes messages, answers questions, makes calls"
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """All have defaults."""
        parser.add_argument("--port", type=int, default=8099)
        parser.add_argument("--decision", choices=DECISIONS, default="approve")
        parser.add_argument("--rules", type=Path, help="a JSON file; see docs/billing.md")
        parser.add_argument("--call", help="make this call (such as suspend) and end")
        parser.add_argument("--said", default="{}", help="what the call says, as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Serve on this machine, or call."""
        out, inward = settings.TIERCEL_BILLING_SECRETS, settings.TIERCEL_BILLING_IN_SECRETS
        simulator = Simulator(
            port=options["port"],
            decision=options["decision"],
            rules=options["rules"],
            secret=out[0] if out else "",
            in_secret=inward[0] if inward else "",
            panel_url=settings.TIERCEL_PUBLIC_URL,
        )
        if options["call"]:
            self._call(simulator, options["call"], options["said"])
        else:
            self._serve(simulator, is_known=bool(out and inward and settings.TIERCEL_BILLING_URL))

    def _call(self, simulator: Simulator, name: str, said: str) -> None:
        try:
            answer = simulator.call(name, json.loads(said))
        except ValueError as error:
            raise CommandError(f"--said is no JSON: {error}") from error
        except NoResponse as error:
            raise CommandError(f"The panel at {simulator.panel_url}: {error}") from error
        self.stdout.write(f"{answer.status}\n{answer.body.decode()}")
        if answer.status >= 400:
            raise CommandError("The call was refused.")

    def _serve(self, simulator: Simulator, *, is_known: bool) -> None:
        simulator.start()
        self.stdout.write(f"Billing simulator at {simulator.url}")
        if not is_known:
            self.stdout.write("Start the panel with:")
            for name, value in simulator.settings.items():
                self.stdout.write(f"  {name}={value}")
        self.stdout.flush()
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        stop.wait()
        simulator.stop()

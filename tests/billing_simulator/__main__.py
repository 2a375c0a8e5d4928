"""`python -m tests.billing_simulator`: serve on this machine until stopped, or make one signed
call with `--call`. Secrets and addresses are those of the panel's settings."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings

from panel.deliveries.http_post import NoResponse
from tests.billing_simulator.ledger import DECISIONS
from tests.billing_simulator.server import Simulator


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 1 where the panel did not answer the call or refused it."""
    options = _options(arguments)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panel.settings")
    out, inward = settings.TIERCEL_BILLING_SECRETS, settings.TIERCEL_BILLING_IN_SECRETS
    simulator = Simulator(
        port=options.port,
        decision=options.decision,
        rules=options.rules,
        secret=out[0] if out else "",
        in_secret=inward[0] if inward else "",
        panel_url=settings.TIERCEL_PUBLIC_URL,
    )
    if options.call:
        return _call(simulator, options.call, options.said)
    _serve(simulator, is_configured=bool(out and inward and settings.TIERCEL_BILLING_URL))
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.billing_simulator", description=__doc__)
    parser.add_argument("--port", type=int, default=8099)
    parser.add_argument("--decision", choices=DECISIONS, default="approve")
    parser.add_argument("--rules", type=Path, help="a JSON file; see docs/billing.md")
    parser.add_argument("--call", help="make this call (such as suspend) and exit")
    parser.add_argument("--said", default="{}", help="the body of the call, as JSON")
    return parser.parse_args(arguments)


def _call(simulator: Simulator, name: str, said: str) -> int:
    try:
        answer = simulator.call(name, json.loads(said))
    except ValueError as error:
        print(f"--said is not JSON: {error}", file=sys.stderr)
        return 1
    except NoResponse as error:
        print(f"The panel at {simulator.panel_url}: {error}", file=sys.stderr)
        return 1
    print(f"{answer.status}\n{answer.body.decode()}")
    return 1 if answer.status >= 400 else 0


def _serve(simulator: Simulator, *, is_configured: bool) -> None:
    simulator.start()
    print(f"Billing simulator at {simulator.url}")
    if not is_configured:
        print("Start the panel with:")
        for name, value in simulator.settings.items():
            print(f"  {name}={value}")
    sys.stdout.flush()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    stop.wait()
    simulator.stop()


if __name__ == "__main__":
    sys.exit(main())

"""A billing system for demos and tests: it takes messages, answers questions by simple rules, keeps
invoices in memory and can make signed calls. It knows nothing of Django, and listens on this
machine only."""

from __future__ import annotations

import base64
import http.server
import json
import secrets as random
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs

from panel.deliveries.http_post import Answer, post
from panel.deliveries.signature import BadSignature, sign, verify
from tests.billing_simulator import invoice_page
from tests.billing_simulator.ledger import BillingLedger

HOOK = "/hook"
SLOW_SECONDS = 15
"""Longer than the panel waits for an answer."""


def new_secret() -> str:
    """A secret that signs: whsec_ and 32 random bytes."""
    return f"whsec_{base64.b64encode(random.token_bytes(32)).decode()}"


class Simulator:
    """`decision` is the usual answer (`tests.billing_simulator.ledger`), `rules` a file of others.
    `secret` signs what comes, `in_secret` its own calls to the panel at `panel_url`; `port` 0 takes
    a free one. `settings` is what the panel must be started with."""

    def __init__(
        self,
        *,
        port: int = 0,
        decision: str = "approve",
        rules: Path | None = None,
        secret: str = "",
        in_secret: str = "",
        panel_url: str = "",
        slow_seconds: float = SLOW_SECONDS,
    ) -> None:
        self.secret, self.in_secret = secret or new_secret(), in_secret or new_secret()
        self.panel_url = panel_url.rstrip("/")
        self.ledger = BillingLedger(decision, rules)
        self.slow_seconds = slow_seconds
        self.stopping = threading.Event()
        self._port = port
        self._server: http.server.ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where its page is."""
        return f"http://127.0.0.1:{self._port}/"

    @property
    def settings(self) -> dict[str, str]:
        """The panel's variables; the port is known once it has started."""
        return {
            "TIERCEL_BILLING_URL": f"http://127.0.0.1:{self._port}{HOOK}",
            "TIERCEL_BILLING_SECRETS": self.secret,
            "TIERCEL_BILLING_IN_SECRETS": self.in_secret,
        }

    def start(self) -> None:
        """Listen; after a stop on the same port again, with the same ledger."""
        self.stopping.clear()
        handler = type("Bound", (Handler,), {"simulator": self})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", self._port), handler)
        self._server.daemon_threads = True
        self._port = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Hang up and forget nothing."""
        self.stopping.set()
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
        self._server = self._thread = None

    def call(self, name: str, said: dict[str, Any], *, id: str = "") -> Answer:
        """Make a signed call to the panel; the same `id` again is the same call."""
        body = json.dumps(said).encode()
        id = id or f"call_{random.token_hex(12)}"
        headers = {
            "Content-Type": "application/json",
            **sign(id, body, [self.in_secret], datetime.now(UTC)),
        }
        return post(f"{self.panel_url}/api/v1/billing/{name}", body, headers, seconds=30)


class Handler(http.server.BaseHTTPRequestHandler):
    """Messages at `HOOK`, the page at `/`, the ledger as JSON at `/state.json`."""

    simulator: ClassVar[Simulator]

    def do_GET(self) -> None:
        """What is in the ledger."""
        state = self.simulator.ledger.state()
        if self.path == "/state.json":
            self._answer(200, json.dumps(state, indent=1), "application/json")
        elif self.path == "/":
            self._answer(200, invoice_page.page(state), "text/html; charset=utf-8")
        else:
            self._answer(404, "{}", "application/json")

    def do_POST(self) -> None:
        """A message, or a button of the page."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == HOOK:
            self._message(body)
        elif self.path == "/decide":
            self._decide({name: each[0] for name, each in parse_qs(body.decode()).items()})
        else:
            self._answer(404, "{}", "application/json")

    def _message(self, body: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            name = verify(headers, body, [self.simulator.secret])
        except BadSignature as bad:
            self._answer(401, json.dumps({"error": str(bad)}), "application/json")
            return
        answer = self.simulator.ledger.take(name, json.loads(body))
        if answer.get("decision") == "slow":
            self.simulator.stopping.wait(self.simulator.slow_seconds)
            answer = {"decision": "approve"}
        self._answer(200, json.dumps(answer), "application/json")

    def _decide(self, said: dict[str, str]) -> None:
        order, decision = said.get("order", ""), said.get("decision", "")
        answer = self.simulator.call("decide-order", {"order": order, "decision": decision})
        if answer.status == 200:
            self.simulator.ledger.decided(order)
        self.send_response(303)
        self.send_header("Location", "/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _answer(self, status: int, text: str, kind: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        try:
            self.wfile.write(data)
        except ConnectionError:
            # The client has not waited: that is what a slow answer is for.
            self.close_connection = True

    def log_message(self, *args: Any) -> None:
        """Its page tells."""

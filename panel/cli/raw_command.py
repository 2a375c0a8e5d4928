"""`tiercel api`: any route of the API, for what has no command of its own."""

from __future__ import annotations

import json
import sys
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import click

from .command_session import NAME, CommandSession, asks_the_panel
from .exit_codes import CommandError, ExitCode
from .panel_client import V1
from .terminal import json_text

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@click.command("api")
@click.argument("method", type=click.Choice(METHODS, case_sensitive=False))
@click.argument("path", type=NAME)
@click.option("--data", "-d", help="JSON body; - reads standard input.")
@click.option(
    "--if-match", help="The ETag that you read: change nothing if the object has changed since."
)
@click.option(
    "--idempotency-key", "request_key", default="", help="Repeat the request with this key safely."
)
@click.option(
    "--include", "-i", "with_headers", is_flag=True, help="Also write status and headers."
)
@asks_the_panel
def call_api(
    session: CommandSession,
    method: str,
    path: str,
    data: str | None,
    if_match: str | None,
    request_key: str,
    with_headers: bool,
) -> None:
    """Send one request and write the answer as JSON.

    PATH is below /api/v1, as in /volumes/?limit=5.
    """
    parts = urlsplit(path)
    if parts.scheme or parts.netloc or not parts.path.startswith("/"):
        raise CommandError(
            "PATH is an API path without the panel's address.",
            "Write it as /volumes/?limit=5.",
            ends_with=ExitCode.USAGE,
        )
    query: dict[str, list[str]] = {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        query.setdefault(name, []).append(value)
    answer = session.client.ask(
        method,
        parts.path.removeprefix(V1),
        query=query,
        body=None if data is None else _body(data),
        key=request_key,
        headers={"If-Match": if_match} if if_match else None,
        # A route that knows no Idempotency-Key would do it twice.
        is_repeatable=method != "POST" or bool(request_key),
    )
    if with_headers:
        head = {"status": answer.status, "headers": dict(answer.headers), "body": answer.data}
        click.echo(json_text(head, indent=2))
    elif answer.data is not None:
        click.echo(json_text(answer.data, indent=2))


def _body(text: str) -> Any:
    try:
        return json.loads(sys.stdin.read() if text == "-" else text)
    except ValueError as error:
        raise CommandError(f"--data is not JSON: {error}", ends_with=ExitCode.USAGE) from None

"""An application of one line for gunicorn, and the panel's settings of it with one process and a
short patience."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from panel.configuration.gunicorn import *  # noqa: F403 (settings of gunicorn)
from panel.http import request_worker

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse

bind = "127.0.0.1:0"
workers = 1
if seconds := os.environ.get("ECHO_SECONDS"):
    request_worker.REQUEST_SECONDS = float(seconds)
if seconds := os.environ.get("ECHO_ANSWER_SECONDS"):
    request_worker.ANSWER_SECONDS = float(seconds)
TIMES = int(os.environ.get("ECHO_TIMES", "1"))


def application(environ: dict[str, Any], start_response: StartResponse) -> list[bytes]:
    """The body of the request, so many times."""
    body = environ["wsgi.input"].read() * TIMES
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]

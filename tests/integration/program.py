"""What an automation client does: requests to the running panel's API with a token of its own."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
import uuid
from typing import Any

from jobs.models import Job
from tests.integration.person import finished

ANSWER_SECONDS = 60
V1 = "/api/v1"


class Program:
    """`token` is a bearer token. Each request asks for a job, and gives it once it is over."""

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = url, token
        # No proxy of this machine's between us and its own loopback.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Job:
        request = urllib.request.Request(
            f"{self._url}{V1}{path}",
            None if body is None else json.dumps(body).encode(),
            {
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
                "Idempotency-Key": str(uuid.uuid4()),
            },
            method=method,
        )
        try:
            with self._opener.open(request, timeout=ANSWER_SECONDS) as reply:
                answer: dict[str, Any] = json.load(reply)
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from None
        return finished(Job.objects.get(key=answer["key"]))

"""A billing system's desk: signs calls, and answers messages as the test says."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from django.test import Client

from panel.deliveries.http_post import Answer, NoResponse
from panel.deliveries.signature import sign
from panel.models import Message

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_b29vb29vb29vb29vb29vb29vb29vb29vb29vbw=="
_numbers = itertools.count(1)


def call(
    name: str,
    said: Any = None,
    *,
    id: str = "",
    secrets: Iterable[str] = (SECRET,),
    at: datetime | None = None,
    raw: bytes | None = None,
) -> Any:
    """The panel's answer to a signed call; `raw` is sent in place of what was signed."""
    body = json.dumps(said if said is not None else {}).encode()
    id = id or f"call_{next(_numbers)}"
    headers = sign(id, body, list(secrets), at or datetime.now(UTC))
    return Client().post(
        f"/api/v1/billing/{name}",
        raw if raw is not None else body,
        content_type="application/json",
        headers=headers,
    )


def ok(response: Any, status: int = 200) -> dict[str, Any]:
    """The body of an answer that is as expected."""
    assert response.status_code == status, response.content
    body: dict[str, Any] = response.json()
    assert body["result"] == ("pending" if status == 202 else "success")
    return body


class Desk:
    """Stands in for the way to the billing system. `answers` are given one after the other, then
    the last one for ever: a status, a decision, an answer, or None for no answer."""

    def __init__(self, *answers: int | dict[str, str] | Answer | None) -> None:
        self.answers = list(answers) or [200]
        self.got: list[Message] = []

    def __call__(self, message: Message) -> Answer:
        self.got.append(message)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is None:
            raise NoResponse("No answer within 10 s.")
        if isinstance(answer, Answer):
            return answer
        if isinstance(answer, int):
            return Answer(answer, b"")
        return Answer(200, json.dumps(answer).encode())

    @property
    def types(self) -> list[str]:
        """What came, in its order."""
        return [message.type for message in self.got]

"""`ETag` and `If-Match` (RFC 9110, 8.8.3 and 13.1.1): a wish thought out on what was so a while ago
changes nothing."""

from __future__ import annotations

import hashlib
import json

from rest_framework.request import Request
from rest_framework.utils.encoders import JSONEncoder

from panel.api.framework.problem import Problem
from panel.api.shapes import Json

HEADER = "If-Match"
ANY = "*"


def version(said: Json) -> str:
    """The strong entity tag of what a reader is told: another one where it says another thing."""
    text = json.dumps(said, cls=JSONEncoder, sort_keys=True)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:20]}"'


def demand(request: Request, said: Json) -> None:
    """Raises `Problem` (412) where the request was meant for another version than `said`."""
    given = [tag.strip() for tag in request.headers.get(HEADER, ANY).split(",")]
    now = version(said)
    if ANY not in given and now not in given:
        raise Problem(
            412,
            "changed",
            "It has changed since you read it; nothing was done.",
            "Read it again, and wish anew if you still want to.",
            headers={"ETag": now},
        )

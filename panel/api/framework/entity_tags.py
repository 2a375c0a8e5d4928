"""Versions of what the API shows: ETag, If-None-Match (304) and If-Match (412).

A tag is `"<record>.<whole>"`. The first part names what a request can change, the second one all
that is shown, with what is only measured. If-None-Match compares the whole tag, If-Match the first
part: a volume whose figures moved is still the one that was read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Any, Final

from django.db import connection
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework.problem import ApiProblem
from panel.api.framework.rendering import json_bytes

IF_MATCH: Final = "If-Match"
IF_NONE_MATCH: Final = "If-None-Match"
ANY: Final = "*"
LENGTH: Final = 20
TAGGED_STATUS: Final = 200
NOT_MODIFIED: Final = 304


def entity_tag(data: Any, measured: Collection[str] = ()) -> str:
    """The tag of what a reader is shown; `measured` are the fields that no request changes."""
    whole = json_bytes(data, is_sorted=True)
    if not measured or not isinstance(data, dict):
        return f'"{_digest(whole)}"'
    record = {name: value for name, value in data.items() if name not in measured}
    return f'"{_digest(json_bytes(record, is_sorted=True))}.{_digest(whole)}"'


def demand_unchanged(request: Request, tag: str | None) -> None:
    """Raises `ApiProblem` (412) where the request was meant for another version than the one that
    has this tag; None where there is none yet."""
    if IF_MATCH in request.headers:
        given = _tags(request.headers[IF_MATCH])
        is_it = tag is not None and (ANY in given or _record(tag) in map(_record, given))
    elif IF_NONE_MATCH in request.headers:
        given = _tags(request.headers[IF_NONE_MATCH])
        is_it = tag is None or (ANY not in given and tag not in given)
    else:
        return
    if not is_it:
        raise ApiProblem(
            412,
            "changed",
            "It has changed since you read it; nothing was changed.",
            "Read it again, and repeat the change if you still want it.",
            headers={} if tag is None else {"ETag": tag},
        )


def demand_no_condition(request: Request) -> None:
    """Raises `ApiProblem` where a condition would be passed over in silence."""
    for name in (IF_MATCH, IF_NONE_MATCH):
        if name in request.headers:
            raise ApiProblem(
                400,
                "condition_not_supported",
                f"{name} cannot be used here: this address has no version.",
                f"Omit it. {name} works where one address is both read and changed.",
            )


def answer_not_modified(request: Request, response: Response) -> None:
    """Empty the answer where the reader has it already."""
    given = _tags(request.headers.get(IF_NONE_MATCH, ""))
    if response["ETag"] in given or ANY in given:
        response.status_code, response.data = NOT_MODIFIED, None


def one_at_a_time(path: str) -> None:
    """Until the end of the transaction, no other request changes what lies at this address: none
    comes between the comparison of versions and the change."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [path])


def _tags(text: str) -> list[str]:
    return [tag.strip() for tag in text.split(",")]


def _record(tag: str) -> str:
    """The part that If-Match compares; a weak tag, or none, is the same as no other."""
    return tag.partition(".")[0].rstrip('"') if tag.startswith('"') else tag


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:LENGTH]

"""`Idempotency-Key`: a repeated request is executed once and gets the first answer.

The row of a key is inserted before anything is done, and filled in the same transaction as the
change, so after any failure either both exist or neither. A key whose request left nothing behind
(it was refused, or its process died) is free again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework.problem import ApiProblem
from panel.api.framework.rendering import json_bytes
from panel.models import IdempotentRequest, User
from storage.database_clock import database_now

HEADER = "Idempotency-Key"
MAX_LENGTH = 255
KEPT = timedelta(days=7)
STALE = timedelta(seconds=60)
"""No request is at work longer (gunicorn ends its process after 30 s without a sign of life)."""
UNKEPT_PARAMETERS = ("wait",)


def once(
    request: Request, user: User, act: Callable[[], Response], once_only: Collection[str] = ()
) -> Response:
    """The answer of `act`, or what it answered when this key was first used, without the
    `once_only` fields.

    Raises `ApiProblem` without a key, with a key of another request, and while that is at work.
    Whatever `act` raises undoes what it did.
    """
    row = _claim(user, _route(request), _key(request), digest(request))
    if row.status is not None:
        headers = {**row.headers, "Idempotency-Replayed": "true"}
        return Response(row.body or None, status=row.status, headers=headers)
    try:
        with transaction.atomic():
            locked = _hold(row)
            answer = act()
            locked.status = answer.status_code
            locked.body = _kept(answer.data, once_only)
            locked.headers = {name: answer[name] for name in ("Location",) if name in answer}
            locked.save()
            return answer
    except BaseException:
        IdempotentRequest.objects.filter(pk=row.pk, status=None, created_at=row.created_at).delete()
        raise


def once_if_named(
    request: Request, user: User, act: Callable[[], Response], once_only: Collection[str] = ()
) -> Response:
    """`once` where the request has a key, for what touches neither hosts nor money; raises as it
    does."""
    return once(request, user, act, once_only) if HEADER in request.headers else act()


def digest(request: Request) -> str:
    """Two requests with the same digest ask for the same: body and parameters, but not how long
    to wait for the end."""
    parameters = sorted(
        (name, values)
        for name, values in request.query_params.lists()
        if name not in UNKEPT_PARAMETERS
    )
    text = json.dumps([request.method, request.path, parameters, request.data], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _key(request: Request) -> str:
    key: str = request.headers.get(HEADER, "")
    if not key:
        raise ApiProblem(
            400,
            "idempotency_key_required",
            f"This changes a host or costs money, and has no {HEADER}.",
            f"Send {HEADER} with a new random value for each change, and the same value again "
            "when you repeat the request.",
        )
    if len(key) > MAX_LENGTH or not (key.isascii() and key.isprintable()):
        raise ApiProblem(
            400,
            "idempotency_key_invalid",
            f"{HEADER} is at most {MAX_LENGTH} printable ASCII characters.",
            "Send a UUID.",
        )
    return key


def _route(request: Request) -> str:
    return f"{request.method} {request.path}"[:200]


def _claim(user: User, route: str, key: str, request_digest: str) -> IdempotentRequest:
    """The row of the key: a new one, a stale one taken over, or one with its answer."""
    IdempotentRequest.objects.filter(user=user, created_at__lt=Now() - KEPT).delete()
    for _ in range(3):
        try:
            with transaction.atomic():
                return IdempotentRequest.objects.create(
                    user=user, route=route, key=key, request_digest=request_digest
                )
        except IntegrityError:
            row = IdempotentRequest.objects.filter(user=user, route=route, key=key).first()
        if row is None:  # it was given up between the two statements
            continue
        if row.request_digest != request_digest:
            raise ApiProblem(
                422,
                "idempotency_key_reused",
                f"This {HEADER} was used for another request.",
                "Use a new value for each change.",
            )
        if row.status is not None or _take_over(row):
            return row
        break
    raise _at_work()


def _take_over(row: IdempotentRequest) -> bool:
    """Begin again where a process died; only one can."""
    now = database_now()
    if row.created_at > now - STALE:
        return False
    taken = IdempotentRequest.objects.filter(pk=row.pk, status=None, created_at=row.created_at)
    was_ours = taken.update(created_at=now) == 1
    row.created_at = now
    return was_ours


def _hold(row: IdempotentRequest) -> IdempotentRequest:
    """Lock the row until the end of the transaction; it must still be ours."""
    rows = IdempotentRequest.objects.select_for_update()
    locked = rows.filter(pk=row.pk, status=None, created_at=row.created_at).first()
    if locked is None:
        raise _at_work()
    return locked


def _at_work() -> ApiProblem:
    return ApiProblem(
        409,
        "idempotency_key_in_use",
        f"The first request with this {HEADER} is still being answered.",
        "Repeat the request in a second.",
        headers={"Retry-After": "1"},
    )


def _kept(data: Any, once_only: Collection[str]) -> Any:
    """What JSON makes of an answer; {} of an empty one."""
    plain = json.loads(json_bytes(data))
    if isinstance(plain, dict):
        return {name: None if name in once_only else value for name, value in plain.items()}
    return plain or {}

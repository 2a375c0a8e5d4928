"""The log of signed calls: each is executed once, and a repetition gets the first answer.

The call's id is written in the same transaction as its effect; two calls with one id at the same
time wait for each other there. A refusal is stored too: a repeated call gets the refusal, not what
has become possible meanwhile. Only a call that failed through our own fault may be tried again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder

from panel.api.framework.problem import ApiProblem
from panel.billing.calls.calling import CallDefinition, Caller
from panel.models import BillingCall

KEPT = timedelta(days=30)


def once(
    call: CallDefinition, caller: Caller, body: bytes, act: Callable[[], Response]
) -> Response:
    """The answer of `act`, or what it was the first time. `act` answers refusals and undoes what
    they did. Raises `ApiProblem` (409) for another body under an old name."""
    digest = hashlib.sha256(call.name.encode() + b"\n" + body).hexdigest()
    with transaction.atomic():
        row = BillingCall(name=caller.name, call=call.name, digest=digest, address=caller.address)
        BillingCall.objects.bulk_create([row], ignore_conflicts=True)
        kept = BillingCall.objects.select_for_update().get(name=caller.name)
        if kept.digest != digest:
            raise ApiProblem(
                409,
                "webhook_id_reused",
                "This webhook-id was used for another call.",
                "Use a new one for each call.",
            )
        if kept.status is not None and call.tells_once:
            raise ApiProblem(
                409,
                "told_once",
                "This call has already been answered.",
                "Call with a new webhook-id.",
            )
        if kept.status is not None:
            headers = {"Idempotency-Replayed": "true"}
            return Response(kept.body, status=kept.status, headers=headers)
        answer = act()
        kept.status = answer.status_code
        kept.body = {} if call.tells_once else _plain(answer.data)
        kept.save(update_fields=["status", "body"])
        return answer


def prune_calls(now: datetime) -> None:
    """Forget old calls: their signatures are no good any more."""
    BillingCall.objects.filter(created_at__lt=now - KEPT).delete()


def _plain(data: Any) -> Any:
    """What JSON makes of an answer."""
    return json.loads(json.dumps(data, cls=JSONEncoder))

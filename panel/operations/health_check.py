"""The health check for load balancers: whether PostgreSQL and Redis answer."""

from __future__ import annotations

import logging

import redis
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from panel.configuration import redis_client
from panel.middleware import outage

log = logging.getLogger(__name__)


@login_not_required
@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """200 when PostgreSQL and Redis answer, else 503. Redis away is no outage of the pages, but
    jobs then wait for the workers' own poll."""
    answers = {"database": outage.reaches_database(), "redis": _redis()}
    return JsonResponse(answers, status=200 if all(answers.values()) else 503)


def _redis() -> bool:
    try:
        with redis_client.client() as client:
            client.ping()
    except redis.RedisError as error:
        log.warning("health: Redis does not answer: %s", error)
        return False
    return True

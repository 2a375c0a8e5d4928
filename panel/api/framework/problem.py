"""Errors as RFC 9457 problems: what went wrong, under a stable `code`, and what to do."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final, TypedDict, Unpack

from django.conf import settings
from django.core.exceptions import (
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    ValidationError,
)
from django.http import Http404
from django.urls import reverse
from django.utils import timezone
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.settings import api_settings

from jobs.models import Job
from jobs.queue.submit import Busy
from panel.api.framework.refs import shown_name, url_of
from panel.help.documents import code_anchor
from panel.http.middleware import NO_DATABASE, RETRY_SECONDS, is_outage
from panel.orders.order_request import OrderRefused
from storage.access import Person, is_staff
from storage.planner import Refused

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
CORRECTIONS = {
    "not_authenticated": "Send a token: Authorization: Bearer tcl_… Make one at /tokens/.",
    "authentication_failed": "The token is unknown, expired or revoked. Make one at /tokens/.",
    "not_found": "Check the key; a list shows those you may see.",
    "method_not_allowed": "The description at /api/v1/openapi.json lists the methods.",
    "invalid": "Correct the fields named in errors.",
    "parse_error": "Send a JSON object.",
    "unsupported_media_type": "Send JSON with Content-Type: application/json.",
    "not_acceptable": "Accept application/json.",
}
ORDER_STATUS = {
    **dict.fromkeys(("over_cap", "too_soon", "cap_unknown"), 402),
    **dict.fromkeys(("suspended", "not_allowed"), 403),
    "order_running": 409,
}
"""By code of a refused order; every other one is 422."""
CODES: Final = {"not_found": "absent"}
"""Of refusals, where the planner's word means something else in HTTP: what the request names is
there, but not what it needs."""
CONFLICTS: Final = ("in_use", "external_id_taken")
"""Codes of refusals that come from what is there now (409); every other one is 422."""
BUSY_RETRY_SECONDS: Final = 10
CUSTOMER_DETAIL = "This cannot be done for the volume now."
CUSTOMER_CORRECTION = "Try again later, or ask your provider and name the code."


class Members(TypedDict, total=False):
    """Extension members (RFC 9457), which only some problems have.

    `errors` are `{pointer, code, message}`, the pointer (RFC 6901) into the body, or
    `{parameter, code, message}` with the name of a parameter; `not_before` is when the same request
    may succeed, where that is known; `existing` is the row that has what only one can have, as
    `{key, url, name}`.
    """

    errors: list[dict[str, str]]
    conflicting_jobs: list[dict[str, str]]
    not_before: datetime | None
    existing: dict[str, str]


class ApiProblem(Exception):
    """An answer that is not what was asked for; `headers` go with it."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        correction: str = "",
        *,
        headers: dict[str, str] | None = None,
        **members: Unpack[Members],
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.correction = correction or CORRECTIONS.get(code, "")
        self.headers = headers or {}
        self.members = members
        if (not_before := members.get("not_before")) is not None:
            left = math.ceil((not_before - timezone.now()).total_seconds())
            self.headers.setdefault("Retry-After", str(max(1, left)))

    def to_json(self, instance: str) -> dict[str, Any]:
        """The body; `instance` is the request's id."""
        return {
            "type": f"urn:tiercel:problem:{self.code}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            "instance": f"urn:tiercel:request:{instance}",
            "code": self.code,
            "correction": self.correction,
            "doc_url": doc_url(self.code),
            **{name: member for name, member in self.members.items() if member},
        }


def doc_url(code: str) -> str:
    """Where the panel serves what the code means."""
    page = reverse("help-document", args=["api"])
    return f"{settings.TIERCEL_PUBLIC_URL}{page}#{code_anchor(code)}"


def problem_answer(error: Exception, context: dict[str, Any]) -> Response:
    """DRF's exception handler: every exception of a view ends as a problem."""
    request = context["request"]
    if isinstance(error, ValidationError):
        error = unprocessable(error, _sources_of(context))
    problem = _problem(error, request.user if hasattr(request, "_user") else None)
    if problem is None and is_outage(error):
        headers = {"Retry-After": str(RETRY_SECONDS)}
        problem = ApiProblem(
            503, "service_unavailable", NO_DATABASE, "Ask again later.", headers=headers
        )
    if problem is None:
        log.exception("%s %s failed", request.method, request.path, exc_info=error)
        problem = ApiProblem(
            500,
            "internal",
            "The panel failed to answer; its log has the reason under the request's id.",
            "Try again. If it still fails, give the panel's operator the request's id.",
        )
    return response(problem, getattr(request, "id", ""))


def response(problem: ApiProblem, instance: str) -> Response:
    """The problem as an answer."""
    return Response(
        problem.to_json(instance),
        status=problem.status,
        headers=problem.headers,
        content_type=MEDIA_TYPE,
    )


def unprocessable(
    error: ValidationError, sources: Mapping[str, str] | None = None, *, under: str = ""
) -> ApiProblem:
    """Django's errors, as a form or a model says them. `sources` are the names of the body's
    fields, by those that were saved; `under` is the pointer to the object that they are in."""
    sources = {"__all__": "", **(sources or {})}
    parts = error.error_dict if hasattr(error, "error_dict") else {"__all__": error.error_list}
    errors = [
        {
            "pointer": f"{under}/{sources.get(name, name)}".rstrip("/"),
            "code": each.code or "invalid",
            "message": " ".join(each.messages),
        }
        for name, field_errors in parts.items()
        for each in field_errors
    ]
    return ApiProblem(422, "invalid", "The request has errors.", errors=errors)


def _sources_of(context: Mapping[str, Any]) -> dict[str, str]:
    operation = getattr(context.get("view"), "operation", None)
    body = operation.body() if operation is not None and operation.body is not None else None
    return {} if body is None else {field.source: name for name, field in body.fields.items()}


def refused(refusal: Refused, user: Person | None) -> ApiProblem:
    """Staff read what the plan says; to others it would name hosts and devices."""
    code = CODES.get(refusal.code, refusal.code)
    status = 409 if code in CONFLICTS else 422
    if user is not None and is_staff(user):
        until = refusal.not_before
        return ApiProblem(status, code, refusal.message, refusal.correction, not_before=until)
    return ApiProblem(status, code, CUSTOMER_DETAIL, CUSTOMER_CORRECTION)


def busy(job: Job) -> ApiProblem:
    """Another job is in the way."""
    what = "volume" if job.volume_id is not None else "host"
    return ApiProblem(
        409,
        "busy",
        f"Another job holds the {what}: {job.get_kind_display()}, {job.get_state_display()}.",
        "Wait until it has ended, or cancel it.",
        headers={"Retry-After": str(BUSY_RETRY_SECONDS)},
        conflicting_jobs=[_conflict(job)],
    )


def _conflict(job: Job) -> dict[str, str]:
    return {
        "key": job.key,
        "url": url_of(job),
        "name": shown_name(job),
        "kind": job.kind,
        "state": job.state,
    }


def order_refused(refusal: OrderRefused) -> ApiProblem:
    """An order that was not taken."""
    correction = f"{refusal.correction} {refusal.url}".strip()
    job = refusal.order.job if refusal.order is not None else None
    conflicts = [_conflict(job)] if refusal.code == "order_running" and job is not None else []
    status = ORDER_STATUS.get(refusal.code, 422)
    return ApiProblem(status, refusal.code, refusal.message, correction, conflicting_jobs=conflicts)


def _problem(error: Exception, user: Person | None) -> ApiProblem | None:
    """None for an unexpected error."""
    if isinstance(error, ApiProblem):
        return error
    if isinstance(error, Refused):
        return refused(error, user)
    if isinstance(error, OrderRefused):
        return order_refused(error)
    if isinstance(error, Busy):
        return busy(error.job)
    if isinstance(error, Http404):
        return ApiProblem(404, "not_found", "It does not exist.")
    if isinstance(error, RequestDataTooBig):
        return ApiProblem(413, "too_large", "The body is too large.", "Send less in one request.")
    if isinstance(error, SuspiciousOperation):
        return ApiProblem(400, "bad_request", "The request is malformed.", "Correct it.")
    if isinstance(error, PermissionDenied):
        return ApiProblem(
            403, "forbidden", "Your role does not allow this.", "Ask an administrator."
        )
    if isinstance(error, exceptions.ValidationError):
        errors = list(flat(error.detail))
        return ApiProblem(422, "invalid", "The request has errors.", errors=errors)
    if isinstance(error, exceptions.APIException):
        return _of_framework(error)
    return None


def _of_framework(error: exceptions.APIException) -> ApiProblem:
    codes = error.get_codes()
    code = codes if isinstance(codes, str) else error.default_code
    headers = {}
    if scheme := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = scheme
    return ApiProblem(error.status_code, code, str(error.detail), headers=headers)


def flat(detail: Any, pointer: str = "") -> Iterator[dict[str, str]]:
    """DRF's nested errors, one after the other."""
    if isinstance(detail, dict):
        for name, part in detail.items():
            is_all = name == api_settings.NON_FIELD_ERRORS_KEY
            yield from flat(part, pointer if is_all else f"{pointer}/{name}")
    elif isinstance(detail, list):
        for n, part in enumerate(detail):
            yield from flat(part, f"{pointer}/{n}" if isinstance(part, dict | list) else pointer)
    else:
        yield {
            "pointer": pointer,
            "code": getattr(detail, "code", None) or "invalid",
            "message": str(detail),
        }

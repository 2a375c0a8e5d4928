"""The OpenAPI description: pieces that many views share, and what holds for all operations (the
range of whole numbers, and the errors that any operation may return).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, cast

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiResponse

from panel.api.deprecations import Deprecation
from panel.api.framework.api_operations import DRY_RUN, Operation, operation_of
from panel.api.framework.error_codes import ERROR_CODES
from panel.api.framework.examples import add_examples
from panel.api.framework.fields import Choice, DateTime, Integer, Text
from panel.api.framework.parameters import Header
from panel.api.framework.problem import MEDIA_TYPE
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Json, Shape

CODE_CHOICES: Final = list(ERROR_CODES)


class Fault(Shape):
    """Where in the request it is: `pointer` into the body (RFC 6901), or the name of a
    `parameter`."""

    pointer = Text(
        "Where in the body it is (RFC 6901); empty: the body as a whole.", required=False
    )
    parameter = Text("Name of the query parameter.", required=False)
    code = Text("For programs; it never changes its meaning.")
    message = Text("What is wrong, in a sentence for people.")


class Named(Shape):
    """A row by its names."""

    key = Text("Its name in the API; it never changes.")
    url = Text("Where the API shows it.")
    name = Text("Display name.")


class Conflict(Named):
    """A job in the way."""

    kind = Text("What the job does.")
    state = Text("Its current state.")


class Existing(Named):
    """The object that already has the unique value."""


class ProblemShape(Shape):
    """An error (RFC 9457). `code` is stable; `correction` says what to do."""

    type = Text("URI of the kind of problem.")
    title = Text("The HTTP status in words.")
    status = Integer("The HTTP status.")
    detail = Text("What is wrong, in a sentence for people.")
    instance = Text("Path of the request.")  # type: ignore[assignment]  # a field, no attribute
    code = Choice("For programs; it never changes its meaning.", CODE_CHOICES)
    correction = Text("What to do, in a sentence for people; empty where nothing is to be done.")
    doc_url = Text("Page of the panel that explains the code.")
    errors = Fault(
        "What is wrong in the body or the parameters, one by one.", many=True, required=False
    )  # type: ignore[assignment]  # a field, no attribute
    conflicting_jobs = Conflict("Jobs in the way.", many=True, required=False)
    not_before = DateTime("When the same request may succeed, if known.", required=False)
    existing = Existing("`external_id_taken`: the object that has it.", required=False)


KEY_HEADER: Final = "Idempotency-Key"
KEY_TEXT: Final = "A new random value for each change. Send the same value to repeat a request."
KEY: Final = Header(KEY_HEADER, f"{KEY_TEXT} Required without dry_run=true.")
REQUIRED_KEY: Final = Header(KEY_HEADER, KEY_TEXT, is_required=True)
PROBLEMS: Final = {
    400: "A parameter or header is invalid.",
    401: "The request has no valid credentials.",
    402: "The payment authorisation does not allow this order.",
    403: "The token's scopes or the person's role do not allow this.",
    404: "The object does not exist, or you may not see it.",
    409: "Another job is changing the volume (`busy`), or the first request with this "
    "Idempotency-Key is still running.",
    410: "The event named by `cursor` has been deleted (`place_gone`).",
    412: "The object has changed: If-Match does not match its current version (`changed`).",
    422: "The body is invalid, or the request cannot be carried out.",
}


class OperationSchema(AutoSchema):
    """Describes the `Operation` of a method, with the scopes of which a token needs one."""

    @property
    def operation(self) -> Operation:
        """What is described."""
        return cast("Operation", operation_of(type(self.view), self.method))

    @property
    def resource(self) -> Resource:
        """The view whose method it is."""
        return cast("Resource", self.view)

    def get_operation_id(self) -> str:
        """As clients call it."""
        return self.operation.name

    def get_summary(self) -> str:
        """In a few words."""
        return self.operation.summary

    def is_deprecated(self) -> bool:
        """Whether another operation does the same."""
        return self.operation.deprecated is not None

    def get_request_serializer(self) -> Any:
        """The shape of the body."""
        return self.operation.body

    def get_override_parameters(self) -> list[Any]:
        """Parameters of the query, and headers of this operation alone."""
        named, view = list(self.operation.parameters), self.resource
        if view.needs_key and self.method != "GET":
            takes_dry_runs = DRY_RUN.name in {each.name for each in named}
            may_do_without = takes_dry_runs and not view.needs_key_for_dry_runs
            named.append(KEY if may_do_without else REQUIRED_KEY)
        return [each.described() for each in named]

    def get_response_serializers(self) -> Any:
        """What is shown, and what goes wrong."""
        operation = self.operation
        statuses = {401, 403, *operation.problems}
        if "{" in self.path or self.resource.staff_only:
            statuses.add(404)
        if operation.parameters:
            statuses.add(400)
        if operation.body is not None:
            statuses.add(422)
        answers = {
            status: OpenApiResponse(*each) if isinstance(each, tuple) else each
            for status, each in operation.answers.items()
        }
        return answers | {
            (status, MEDIA_TYPE): OpenApiResponse(ProblemShape, PROBLEMS[status])
            for status in sorted(statuses)
        }

    def get_extensions(self) -> Json:
        """`x-required-scopes`, `x-dry-run-scopes` where a dry run needs less, and `x-deprecations`:
        the old forms that are understood."""
        needed = self.resource.scopes_for(self.method)
        dry = self.resource.scopes_for(self.method, is_dry=True)
        extensions = {"x-required-scopes": needed} if needed else {}
        old = {
            each.name: {"since": f"{each.since}", "until": f"{each.until}"}
            for each in deprecations_of(self.operation, self.resource)
        }
        return {
            **extensions,
            **({"x-dry-run-scopes": dry} if dry != needed else {}),
            **({DEPRECATIONS: old} if old else {}),
        }


def deprecations_of(operation: Operation, view: Resource | type[Resource]) -> list[Deprecation]:
    """All old forms that a method of the view understands."""
    declared = [operation.deprecated, *(each.deprecated for each in operation.parameters)]
    return [each for each in (*declared, view.old_keys) if each is not None]


DEPRECATIONS: Final = "x-deprecations"
INTEGER: Final = "integer"
INT64: Final = "int64"
ANY_OPERATION: Final = {
    "400": "The request is malformed, or has an unknown parameter or an unexpected body.",
    "405": "The address does not support this method; Allow lists the supported ones.",
    "406": "The answer is JSON, which Accept excludes.",
    "429": "Too many requests from this token or this address; Retry-After says how long to wait.",
    "500": "The panel failed (`internal`); its log has the request's id.",
    "503": "The panel is unavailable; Retry-After says how long to wait.",
}
WITH_BODY: Final = {
    "413": "The body is too large.",
    "415": "The body is not JSON.",
}
NUMBER: Final = {"type": INTEGER, "format": INT64}
TEXT: Final = {"type": "string"}
ANSWER_HEADERS: Final = {
    "ETag": {"description": "The version of the object, for If-Match.", "schema": TEXT},
    "Deprecation": {
        "description": "The request used an old form, deprecated since then: `@` and seconds since "
        "1970 (RFC 9745).",
        "schema": TEXT,
    },
    "Link": {
        "description": "With `Deprecation`: the page that names the replacement.",
        "schema": TEXT,
    },
    "Location": {"description": "Address of the created object, or of the job.", "schema": TEXT},
    "Sunset": {
        "description": "With `Deprecation`: the old form works at least until then (RFC 8594).",
        "schema": TEXT,
    },
    "Idempotency-Replayed": {
        "description": "`true`: this Idempotency-Key was used before, and this is the original "
        "answer.",
        "schema": TEXT,
    },
    "Tiercel-Version": {"description": "The release of the panel.", "schema": TEXT},
    "X-Request-Id": {
        "description": "The id of the request, in the log, its job and its audit entries.",
        "schema": TEXT,
    },
}
SAME_TWICE: Final = re.compile(r"^\* `(.*)` - \1$\n?", re.MULTILINE)
ALLOW: Final = {"description": "The methods of the address.", "schema": TEXT}
CHANGING: Final = ("post", "put", "patch", "delete")
VERSIONED: Final = ("put", "patch", "delete")
UNTAGGED: Final = ("events_list",)
"""Operations whose answer changes with every call (`Resource.is_tagged`)."""
NOT_MODIFIED: Final = {"description": "If-None-Match names the current version."}
LIMIT_HEADERS: Final = {
    "Retry-After": {"description": "Seconds until the next request.", "schema": NUMBER},
    "RateLimit-Policy": {
        "description": 'The closest limit, by name: `"token";q=50;w=10` are 50 requests '
        "in 10 seconds.",
        "schema": TEXT,
    },
    "RateLimit": {
        "description": 'The rest of it: `"token";r=49;t=1` are 49, and all again in a second.',
        "schema": TEXT,
    },
    "RateLimit-Limit": {
        "description": "Requests that may be sent at once after a pause.",
        "schema": NUMBER,
    },
    "RateLimit-Remaining": {"description": "How many of these are left.", "schema": NUMBER},
    "RateLimit-Reset": {"description": "Seconds until all are available again.", "schema": NUMBER},
}


def completed(result: Json, **_: object) -> Json:
    """drf-spectacular's document, completed with what views do not declare."""
    for schema in _objects(result):
        kind = schema.get("type")
        # Without it, generated clients have 32 bits: 2 GiB at most.
        if kind == INTEGER or (isinstance(kind, list) and INTEGER in kind):
            schema.setdefault("format", INT64)
        _drop_self_explained_choices(schema)
    responses = {status: _problem(text) for status, text in (ANY_OPERATION | WITH_BODY).items()}
    responses["405"]["headers"] = {"Allow": ALLOW}
    responses["429"]["headers"] = LIMIT_HEADERS
    responses["503"]["headers"] = {"Retry-After": LIMIT_HEADERS["Retry-After"]}
    result["components"]["responses"] = {
        f"Problem{status}": responses[status] for status in responses
    }
    result["components"]["headers"] = ANSWER_HEADERS | LIMIT_HEADERS
    for operations in result["paths"].values():
        is_signed = not any("token" in each for each in _securities(operations))
        for method, operation in operations.items():
            if not is_signed:
                _add_headers(operation, method, is_single=_is_single(operations))
                if operation["operationId"] in UNTAGGED:
                    _drop_versions(operation)
            if "requestBody" in operation:
                operation["requestBody"]["required"] = True
            answers = operation["responses"]
            for status in (*ANY_OPERATION, *(WITH_BODY if "requestBody" in operation else ())):
                answers.setdefault(status, {"$ref": f"#/components/responses/Problem{status}"})
            operation["responses"] = dict(sorted(answers.items()))
    _close_bodies(result)
    add_examples(result)
    return result


def _drop_self_explained_choices(schema: Json) -> None:
    """Drop lines that explain a value by the value itself."""
    description = schema.get("description")
    if isinstance(description, str) and SAME_TWICE.search(description):
        schema["description"] = SAME_TWICE.sub("", description).strip()
        if not schema["description"]:
            del schema["description"]


def _securities(operations: Json) -> list[Json]:
    return [each for operation in operations.values() for each in operation.get("security", [])]


def _is_single(operations: Json) -> bool:
    """Whether one thing is read and changed there (`Resource.has_version`)."""
    return "get" in operations and any(method in operations for method in VERSIONED)


def _add_headers(operation: Json, method: str, *, is_single: bool) -> None:
    """The headers that every operation takes and answers with."""
    parameters = operation.setdefault("parameters", [])
    given = {each["name"] for each in parameters}
    if method in CHANGING and KEY_HEADER not in given:
        parameters.append(
            _header(
                KEY_HEADER,
                "A new random value for each change. Send the same value to repeat a request.",
            )
        )
    if method in VERSIONED and is_single and "If-Match" not in given:
        parameters.append(_header("If-Match", "The ETag you read; 412 if it has changed since."))
        answer = operation["responses"].setdefault("412", _problem("It has changed (`changed`)."))
        answer.setdefault("headers", {})["ETag"] = _reference("ETag")
    if method == "get":
        parameters.append(_header("If-None-Match", "The ETag you have; 304 if it is the same."))
        operation["responses"].setdefault("304", NOT_MODIFIED)
    for status, answer in operation["responses"].items():
        if "$ref" in answer:
            continue
        names = ["X-Request-Id", "Tiercel-Version"]
        if DEPRECATIONS in operation:
            names += ["Deprecation", "Sunset", "Link"]
        if status == "200" and (method == "get" or (is_single and method in VERSIONED)):
            names.append("ETag")
        if status in ("201", "202"):
            names.append("Location")
        if status[0] == "2" and method in CHANGING:
            names.append("Idempotency-Replayed")
        if status in ("202", "409", "422"):
            names.append("Retry-After")
        headers = answer.setdefault("headers", {})
        for name in names:
            headers.setdefault(name, _reference(name))


def _drop_versions(operation: Json) -> None:
    """Each answer is another one."""
    operation["parameters"] = [
        each for each in operation["parameters"] if each["name"] != "If-None-Match"
    ]
    del operation["responses"]["304"]
    for answer in operation["responses"].values():
        answer.get("headers", {}).pop("ETag", None)


def _close_bodies(result: Json) -> None:
    """A body has no other fields than those that are described: the server refuses them."""
    schemas: Json = result["components"]["schemas"]
    bodies = [
        operation["requestBody"]
        for operations in result["paths"].values()
        for operation in operations.values()
        if "requestBody" in operation
    ]
    left = [each["$ref"] for each in _objects(bodies) if "$ref" in each]
    closed: set[str] = set()
    while left:
        name = left.pop().rpartition("/")[2]
        if name in closed:
            continue
        closed.add(name)
        schema = schemas[name]
        if schema.get("type") == "object":
            schema["additionalProperties"] = False
        left += [each["$ref"] for each in _objects(schema) if "$ref" in each]


def _header(name: str, description: str) -> Json:
    return {"in": "header", "name": name, "schema": TEXT, "description": description}


def _reference(header: str) -> Json:
    return {"$ref": f"#/components/headers/{header}"}


def _problem(description: str) -> Json:
    shape = {"$ref": "#/components/schemas/ProblemShape"}
    return {"description": description, "content": {MEDIA_TYPE: {"schema": shape}}}


def _objects(part: Any) -> Iterator[Json]:
    if isinstance(part, dict):
        yield part
        part = list(part.values())
    for each in part if isinstance(part, list) else ():
        yield from _objects(each)

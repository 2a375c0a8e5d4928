"""Parts of the OpenAPI document that hold for all operations: the range of whole numbers, and the
errors that any operation may return."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from panel.api.framework.problem import MEDIA_TYPE
from panel.api.response_shapes import Json

INTEGER: Final = "integer"
INT64: Final = "int64"
ANY_OPERATION: Final = {
    "400": "The request is malformed, or has a parameter or a body that is not known here.",
    "429": "Too many requests of this token or this address; Retry-After says how long to wait.",
}
WITH_BODY: Final = {
    "413": "The body is too large.",
    "415": "The body is no JSON.",
}
NUMBER: Final = {"type": INTEGER, "format": INT64}
LIMIT_HEADERS: Final = {
    "Retry-After": {"description": "Seconds until the next request.", "schema": NUMBER},
    "RateLimit-Limit": {"description": "Requests at once, after a pause.", "schema": NUMBER},
    "RateLimit-Remaining": {"description": "Requests left of these now.", "schema": NUMBER},
    "RateLimit-Reset": {"description": "Seconds until all are left again.", "schema": NUMBER},
}


def completed(result: Json, **_: object) -> Json:
    """The document as drf-spectacular makes it, with what no view says by itself."""
    for schema in _objects(result):
        kind = schema.get("type")
        # Without it, generated clients have 32 bits: 2 GiB at most.
        if kind == INTEGER or (isinstance(kind, list) and INTEGER in kind):
            schema.setdefault("format", INT64)
    responses = {status: _problem(text) for status, text in (ANY_OPERATION | WITH_BODY).items()}
    responses["429"]["headers"] = LIMIT_HEADERS
    result["components"]["responses"] = {
        f"Problem{status}": responses[status] for status in responses
    }
    for operations in result["paths"].values():
        for operation in operations.values():
            answers = operation["responses"]
            for status in (*ANY_OPERATION, *(WITH_BODY if "requestBody" in operation else ())):
                answers.setdefault(status, {"$ref": f"#/components/responses/Problem{status}"})
            operation["responses"] = dict(sorted(answers.items()))
    return result


def _problem(description: str) -> Json:
    shape = {"$ref": "#/components/schemas/ProblemShape"}
    return {"description": description, "content": {MEDIA_TYPE: {"schema": shape}}}


def _objects(part: Any) -> Iterator[Json]:
    if isinstance(part, dict):
        yield part
        part = list(part.values())
    for each in part if isinstance(part, list) else ():
        yield from _objects(each)

"""The body of a request: plain JSON of modest size, or a reason why it is refused."""

from __future__ import annotations

import json
import re
from typing import IO, Any, Final

from django.http.request import UnreadablePostError
from django.utils.http import parse_header_parameters
from rest_framework.exceptions import ParseError, UnsupportedMediaType
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from panel.api.framework.problem import ApiProblem
from panel.api.framework.shape import Json

MAX_BODY_BYTES: Final = 64 * 1024
WHOLE_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,10}")
MAX_DEPTH: Final = 8
"""No body of this API is deeper than three."""


class PlainJson(BaseParser):
    """Reads the whole body. What JSON leaves open is refused: text that is no Unicode, a name that
    stands twice in one object, numbers that are none, and nesting that only an attack has."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Any = None,
    ) -> Any:
        """What it says; raises `ApiProblem` (413) and `ParseError` (400)."""
        request = (parser_context or {}).get("request")
        if request is not None:
            _demand_readable(request)
        try:
            text = stream.read(MAX_BODY_BYTES + 1)
            if len(text) > MAX_BODY_BYTES:
                raise too_large()
            value = json.loads(
                text.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_number
            )
            _demand_plain(value)
        except (ValueError, RecursionError, UnreadablePostError) as error:
            raise ParseError(f"The body is not valid JSON: {error}.") from None
        return value


def _demand_readable(request: Request) -> None:
    """Raises `UnsupportedMediaType` for a body that is packed or no UTF-8: neither is undone."""
    encoding = request.headers.get("Content-Encoding", "identity").lower()
    _, parameters = parse_header_parameters(request.content_type or "")
    charset = parameters.get("charset", "utf-8").lower()
    if encoding != "identity" or charset not in ("utf-8", "utf8", "us-ascii"):
        raise UnsupportedMediaType(f"{request.content_type} ({encoding})")


def whole_number(text: str) -> int | None:
    """The number of a parameter, read alike by the limits, which count its cost, and by its view.
    None for anything else, also for a number with leading zeros."""
    return int(text) if WHOLE_NUMBER.fullmatch(text) else None


def too_large() -> ApiProblem:
    """The refusal of a body that is longer than any that makes sense."""
    kilobytes = MAX_BODY_BYTES // 1024
    return ApiProblem(
        413, "too_large", f"A body has at most {kilobytes} KiB.", "Send less in one request."
    )


def _object(pairs: list[tuple[str, Any]]) -> Json:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name occurs twice in one object")
    return members


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def _demand_plain(value: Any) -> None:
    """Raises ValueError. Level by level, without recursion."""
    level = [value]
    for _ in range(MAX_DEPTH):
        for each in level:
            texts = each if isinstance(each, dict) else [each]
            for text in texts:
                if isinstance(text, str):
                    text.encode("utf-8")  # a lone surrogate is a ValueError
        level = [
            part
            for each in level
            if isinstance(each, dict | list)
            for part in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return
    raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")

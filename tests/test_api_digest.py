"""The lines that git has in place of the API's description."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from tests.api_digest import changes, digest_of, read, written


def _uses(*names: str) -> dict[str, Any]:
    return {"responses": [{"$ref": f"#/components/schemas/{name}"} for name in names]}


DOCUMENT: dict[str, Any] = {
    "info": {"title": "Example"},
    "paths": {
        "/volumes": {"get": _uses("Page", "Problem"), "post": _uses("Problem")},
        "/hosts": {"get": _uses("Problem")},
    },
    "webhooks": {"volume": {"post": _uses("Volume")}},
    "components": {
        "schemas": {
            "Page": {"items": {"$ref": "#/components/schemas/Volume"}},
            "Volume": {"size": "integer"},
            "Problem": {"code": {"$ref": "#/components/schemas/Code"}},
            "Code": {"enum": ["a"]},
        }
    },
}


def changed(*keys: str, value: object) -> list[str]:
    """What is said of the document once this part of it has another value."""
    now = deepcopy(DOCUMENT)
    part = now
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    return changes(digest_of(DOCUMENT), digest_of(now))


def test_a_change_of_an_operation_is_one_line() -> None:
    assert changed("paths", "/hosts", "get", "summary", value="x") == ["GET /hosts has changed"]


def test_an_operation_changes_with_a_schema_that_it_uses_by_another() -> None:
    said = changed("components", "schemas", "Volume", value={"size": "string"})
    assert said == ["GET /volumes has changed", "WEBHOOK volume has changed"]


def test_what_most_operations_use_has_a_line_of_its_own() -> None:
    said = changed("components", "schemas", "Code", value={"enum": ["a", "b"]})
    assert said == ["SHARED Code has changed"]


def test_new_and_gone_operations_are_named() -> None:
    said = changed("paths", "/hosts", value={"put": _uses("Problem")})
    assert said == ["GET /hosts is gone", "PUT /hosts is new"]


def test_whatever_no_operation_uses_is_covered_too() -> None:
    assert changed("info", "title", value="Other") == ["The rest has changed"]


def test_what_is_written_is_read_again() -> None:
    digest = digest_of(DOCUMENT)
    assert read(written(digest)) == digest
    assert len(written(digest).splitlines()) == len(digest)

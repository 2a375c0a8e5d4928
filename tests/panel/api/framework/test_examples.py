"""Examples of the description keep to the shapes they are examples of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from panel.api.framework.bodies import Body
from panel.api.framework.examples import BODIES, JSON
from tests.panel.api.test_openapi import described


@cache
def document() -> dict[str, Any]:
    body: dict[str, Any] = json.loads(json.dumps(described()))
    return body


def contents() -> Iterator[tuple[str, dict[str, Any]]]:
    """What operations take and answer with as JSON, by the operation and the status."""
    for section in ("paths", "webhooks"):
        for path, operations in document()[section].items():
            for method, operation in operations.items():
                holders = {"": operation.get("requestBody", {})}
                holders |= {
                    status: each
                    for status, each in operation["responses"].items()
                    if status[0] == "2"
                }
                for name, holder in holders.items():
                    if JSON in holder.get("content", {}):
                        yield f"{method} {path} {name}", holder["content"][JSON]


def example_of(content: dict[str, Any]) -> Any:
    example = content["examples"]["example"]
    if "$ref" in example:
        example = document()["components"]["examples"][example["$ref"].rpartition("/")[2]]
    return example["value"]


def test_each_body_has_an_example_and_it_is_valid() -> None:
    checked = 0
    for name, content in contents():
        schema = {**content["schema"], "components": document()["components"]}
        found = Draft202012Validator(schema).iter_errors(example_of(content))
        faults = [each.message for each in found]
        assert faults == [], name
        checked += 1
    assert checked > 190


def test_an_error_has_an_example() -> None:
    shape = document()["components"]["schemas"]["ProblemShape"]
    [example] = shape["examples"]
    Draft202012Validator({**shape, "components": document()["components"]}).validate(example)


def bodies(of: type[Body] = Body) -> Iterator[type[Body]]:
    for body in of.__subclasses__():
        yield body
        yield from bodies(body)


def examples_of_bodies() -> dict[str, Any]:
    """What operations take, by the name of the body."""
    return {
        content["schema"]["$ref"].rpartition("/")[2]: example_of(content)
        for name, content in contents()
        if name.endswith(" ") and "$ref" in content["schema"]
    }


def test_the_example_of_a_body_is_one_that_the_api_reads() -> None:
    for name, example in examples_of_bodies().items():
        [body] = {each for each in bodies() if each.__name__ == name.removeprefix("Patched")}
        given = body(data=example, partial=name.startswith("Patched"))
        assert example and given.is_valid(), (name, given.errors)


def test_no_example_is_of_a_body_or_a_field_that_is_gone() -> None:
    schemas = document()["components"]["schemas"]
    assert set(BODIES) <= set(examples_of_bodies())
    for name, sent in BODIES.items():
        assert set(sent) <= set(schemas[name]["properties"]), name

"""The description of the API: complete, valid, as its digest, and what the answers keep to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.test import Client
from django.urls import URLPattern
from django.utils import timezone
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema
from jsonschema import Draft202012Validator

from jobs.models import BulkChange, Silence
from panel.api.urls import urlpatterns
from panel.billing.signed_calls import urlpatterns as billing_patterns
from panel.deliveries.webhooks.event_body import event_json
from panel.models import AlertRoute, ApiToken, Intent, Mandate, Order, OrderState
from storage.byte_sizes import GIB
from storage.models import (
    CachePlan,
    Event,
    EventKind,
    Gate,
    HeatTrace,
    HostChange,
    Placement,
    TagLimit,
)
from tests import make
from tests.api_digest import changes, digest_of, read
from tests.benchmark_scene import EVENING, make_benchmark
from tests.panel.api.asking import V1, Program, member, own, staff
from tests.panel.cast import proof
from tests.panel.deliveries.alerts.alert_messages import alert
from tests.panel.deliveries.webhooks.addresses import webhook
from tests.scene import Scene, job, scene, step

DIGEST = settings.BASE_DIR / "docs" / "openapi.digest"
UNDESCRIBED = {"api-openapi", "api-openapi-yaml", "api-nothing", "api-nowhere"}


@cache
def described() -> dict[str, Any]:
    body: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return body


def patterns() -> dict[str, URLPattern]:
    """The route of each address, as the description writes addresses."""
    return {
        f"{V1}/{pattern.pattern}".replace("<str:", "{").replace(">", "}"): pattern
        for pattern in (*urlpatterns, *billing_patterns)
        if isinstance(pattern, URLPattern)
    }


def test_the_committed_digest_is_that_of_the_description_this_code_makes() -> None:
    differs = changes(read(DIGEST.read_text()), digest_of(described()))
    assert differs == [], "run: make openapi"


def test_the_description_is_openapi_3_1() -> None:
    body = json.loads(json.dumps(described()))
    assert body["openapi"].startswith("3.1.")
    validate_schema(body)


def test_every_route_is_described() -> None:
    routes = {path for path, route in patterns().items() if route.name not in UNDESCRIBED}
    assert set(described()["paths"]) == routes


def test_every_operation_says_what_it_answers_without_a_token() -> None:
    for path, operations in described()["paths"].items():
        for method, operation in operations.items():
            assert "401" in operation["responses"], f"{method} {path}"
            has_token = {"token": []} in operation.get("security", [])
            is_signed = path.startswith(f"{V1}/billing/")
            assert has_token is not is_signed, f"{method} {path}"


def _schemas(part: Any) -> Iterator[dict[str, Any]]:
    """Every object of the document."""
    if isinstance(part, dict):
        yield part
    for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _schemas(each)


def test_every_whole_number_says_that_it_has_64_bits() -> None:
    """Without it, generators make 32 bits of it, and no volume of 4 GiB can be listed."""
    numbers = [
        each
        for each in _schemas(described())
        if "integer"
        in ([each["type"]] if isinstance(each.get("type"), str) else each.get("type", ()))
    ]
    assert len(numbers) > 50
    assert [each for each in numbers if each.get("format") != "int64"] == []


def test_only_a_number_has_a_least_and_a_most() -> None:
    limited = [each for each in _schemas(described()) if {"minimum", "maximum"} & set(each)]
    assert len(limited) > 20
    assert [each for each in limited if each.get("type", "object") == "string"] == []
    assert [each for each in limited if each.get("format", "int64") == "date-time"] == []


def test_each_answer_with_an_amount_has_the_decimal_places_of_its_currency() -> None:
    bodies = {
        name
        for name, schema in described()["components"]["schemas"].items()
        if schema.get("additionalProperties") is False
    }
    amounts = {
        name: set(schema["properties"])
        for name, schema in described()["components"]["schemas"].items()
        if name not in bodies
        and any(each.endswith("_minor") for each in schema.get("properties", ()))
    }
    assert len(amounts) > 3
    without = [name for name, fields in amounts.items() if "currency_digits" not in fields]
    assert without == []


PLAIN_KEYS = {
    "EventDataShape": "Events are thin: they name what may be gone by now.",
    "AuditShape": "The history names what may be gone by now.",
    "TokenShape": "made_by may name a token that was forgotten.",
    "JobShape": "token may name a token that was forgotten.",
    "ExportShape": "An export is read where its host has no address.",
}
"""Shapes of answers with a text where others have a reference."""
NOUNS = ("volume", "host", "job", "order", "customer", "cache_plan", "alert", "token", "route")


def test_what_answers_name_they_name_by_key_url_and_name() -> None:
    schemas = described()["components"]["schemas"]
    answers = {
        name: schema
        for name, schema in schemas.items()
        if name.endswith("Shape") or name in ("WishNow", "Ref", "PersonRef")
    }
    plain = {
        name
        for name, schema in answers.items()
        for field, each in schema.get("properties", {}).items()
        if field in NOUNS and "string" in str(each.get("type", ""))
    }
    assert plain - set(PLAIN_KEYS) == set()
    for name in ("Ref", "PersonRef"):
        assert {"key", "url", "name"} <= set(schemas[name]["properties"])


def test_each_field_says_what_it_means() -> None:
    silent = [
        f"{name}.{field}"
        for name, schema in described()["components"]["schemas"].items()
        for field, each in schema.get("properties", {}).items()
        if not each.get("description")
    ]
    assert silent == []


def test_what_may_have_several_shapes_says_which_it_has() -> None:
    schemas = described()["components"]["schemas"]
    unions = {
        name: schema
        for name, schema in schemas.items()
        if "oneOf" in schema and "WishNow" in str(schema["oneOf"])
    }
    assert list(unions) == ["WishAnswer"]
    discriminator = unions["WishAnswer"]["discriminator"]
    refs = [each["$ref"] for each in unions["WishAnswer"]["oneOf"]]
    assert sorted(discriminator["mapping"].values()) == sorted(refs)
    for value, address in discriminator["mapping"].items():
        shape = schemas[address.rpartition("/")[2]]
        assert discriminator["propertyName"] in shape["required"]
        [reference] = shape["properties"][discriminator["propertyName"]]["allOf"]
        name = reference["$ref"].rpartition("/")[2]
        assert schemas[name]["enum"] == [value]


def test_no_value_is_explained_with_itself() -> None:
    texts = [
        text for each in _schemas(described()) if isinstance(text := each.get("description"), str)
    ]
    assert any("* `" in text for text in texts)
    assert [text for text in texts if re.search(r"`(.*)` - \1$", text, re.MULTILINE)] == []


def test_every_operation_says_how_the_panel_may_fail() -> None:
    responses = described()["components"]["responses"]
    assert "Retry-After" in responses["Problem503"]["headers"]
    for path, operations in described()["paths"].items():
        for method, operation in operations.items():
            assert {"406", "500", "503"} <= set(operation["responses"]), f"{method} {path}"


def test_every_operation_with_a_body_says_when_it_is_refused() -> None:
    bodies = 0
    for path, operations in described()["paths"].items():
        for method, operation in operations.items():
            if "requestBody" in operation:
                bodies += 1
                assert {"400", "413", "415"} <= set(operation["responses"]), f"{method} {path}"
    assert bodies > 10


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["openapi.json", "openapi.yaml"])
def test_anybody_may_read_the_description(name: str) -> None:
    response = Client().get(f"{V1}/{name}")
    assert response.status_code == 200
    assert yaml.load(response.content, yaml.CSafeLoader)["info"]["title"] == "Tiercel"


def _world() -> tuple[Program, Program, Scene]:
    customer = make.customer()
    there = scene(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")))
    own(there, customer)
    plan = CachePlan.objects.create(name="Fast", size_bytes=GIB, price_minor=490, currency="EUR")
    there.volume.cache_plan = plan
    there.volume.save()
    made = job(there, origin="portal", error={"code": "x", "message": "m", "correction": "c"})
    step(made)
    now = timezone.now()
    mandate = {"currency": "EUR", "cap_charge_minor": 490, "cap_period_minor": 490}
    Mandate.objects.create(customer=customer, earliest_next_at=now, **mandate)
    order = Order.objects.create(
        customer=customer,
        volume=there.volume,
        intent=Intent.UPGRADE,
        state=OrderState.COMPLETED,
        currency="EUR",
        price_minor=490,
        charge_minor=245,
        next_invoice_minor=490,
        next_invoice_at=now,
        ended_at=now,
    )
    proof(order, "The volume was changed again.")
    return staff(), member(customer), there


NOT_THERE = {
    (path, 404)
    for path in (
        "/halt",
        "/hosts/{key}/maintenance",
        "/customers/{key}/suspension",
        "/hosts/{key}/disks/{disk}/writers",
    )
}
"""Nothing is stopped, in maintenance or suspended in that world, and its disk is no SSD."""
NAMES_NOTHING = {("/benchmarks/compare", 400)}
"""It compares what the query names."""


@pytest.mark.django_db
@pytest.mark.parametrize("who", [0, 1], ids=["staff", "member"])
def test_answers_are_as_described(who: int) -> None:
    world = _world()
    asking, there = world[who], world[2]
    body = json.loads(json.dumps(described()))
    benchmark = make_benchmark(there.host, EVENING, timezone.now())
    Gate.objects.create(benchmark=benchmark, kernels=["6.1.0-26", "6.1.0-28"], boots_a_side=4)
    keys = {
        "volumes": there.volume.key,
        "hosts": there.host.key,
        "benchmarks": benchmark.key,
        "gates": benchmark.key,
        "jobs": there.volume.job_set.get().key,
        "customers": there.volume.customer.key,
        "orders": there.volume.orders.get().key,
        "cache-plans": there.volume.cache_plan.key,
        "alerts": alert(there.host, volume=there.volume).key,
        "silences": Silence.objects.create(code="drift", reason="x", until=timezone.now()).key,
        "alert-routes": AlertRoute.objects.create(name="Me", kind="email", user=world[0].user).key,
        "webhooks": webhook("https://scripts.example.org/").key,
        "bulk-changes": BulkChange.objects.create(
            actor=world[0].user, action="retire", items=[[there.volume.key, None, "", {}]]
        ).key,
        "people": world[1].user.key,
        "members": world[1].user.memberships.get().key,
        "tag-limits": TagLimit.objects.create(tag="nvme", slow_read_ms=5).key,
        "tokens": ApiToken.objects.filter(user=asking.user)[0].key,
    }
    disk = make.physical_disk(there.host).key
    restart = HostChange.objects.create(host=there.host, at=timezone.now(), kind="kernel")
    traced = HeatTrace.objects.create(
        volume=there.volume, host=there.host, minutes=15, chunk_bytes=65_536
    )
    views = {
        path: getattr(route.callback, "view_class", None) for path, route in patterns().items()
    }
    absent = set()
    for path, operations in body["paths"].items():
        noun = path.split("/")[3]
        at = path.replace("{key}", keys.get(noun, "")).replace("{disk}", disk)
        at = at.replace("{event}", str(restart.pk)).replace("{trace}", traced.key)
        if "get" not in operations:
            continue
        response = asking.get(at.removeprefix(V1))
        if response.status_code != 200 and not (who and getattr(views[path], "staff_only", False)):
            absent.add((path.removeprefix(V1), response.status_code))
        said = operations["get"]["responses"][str(response.status_code)]["content"]
        schema = said[response["Content-Type"]]["schema"]
        Draft202012Validator({**schema, "components": body["components"]}).validate(response.json())
    assert absent == (set() if who else NOT_THERE | NAMES_NOTHING)


def test_every_tag_is_explained() -> None:
    used = {
        tag
        for section in ("paths", "webhooks")
        for operations in described()[section].values()
        for operation in operations.values()
        for tag in operation.get("tags", ())
    }
    assert used - {each["name"] for each in described()["tags"]} == set()


def test_each_type_of_event_is_among_the_messages_of_its_family() -> None:
    types: dict[str, list[str]] = {}
    for family, operations in described()["webhooks"].items():
        content = operations["post"]["requestBody"]["content"]["application/json"]
        for part in content["schema"].get("allOf", ()):
            types[family] = part.get("properties", {}).get("type", {}).get("enum", [])
    assert sorted(kind for kinds in types.values() for kind in kinds) == sorted(EventKind.values)
    assert all(kind.startswith(f"{family}.") for family in types for kind in types[family])


@pytest.mark.django_db
def test_what_is_sent_to_webhooks_is_as_described() -> None:
    _, _, there = _world()
    alert(there.host, volume=there.volume)
    Placement.objects.filter(volume=there.volume).update(missing_since=timezone.now())
    body = json.loads(json.dumps(described()))
    families = set()
    for event in Event.objects.select_related("customer"):
        family = event.kind.partition(".")[0]
        families.add(family)
        content = body["webhooks"][family]["post"]["requestBody"]["content"]["application/json"]
        schema = {**content["schema"], "components": body["components"]}
        for for_staff in (True, False):
            message = json.loads(json.dumps(event_json(event, for_staff=for_staff)))
            Draft202012Validator(schema).validate(message)
            properties = body["components"]["schemas"]["EventDataShape"]["properties"]
            assert set(message["data"]) <= set(properties)
    assert {"job", "volume", "host", "order"} <= families

"""Each field of the API is declared whole: its shape says what it means and where it comes from,
and what can be written can be written on a page, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django import forms
from django.db.models import Model

import panel.urls  # noqa: F401 (it imports every view, and with them every shape and body)
from jobs.models import Alert, AlertEvent, BulkChange, Halt, Job, MediaCheck, Silence, Step
from panel.api.accounts.people_endpoints import InvitationShape, MembershipShape, PersonShape
from panel.api.accounts.token_endpoints import TokenShape
from panel.api.alerts.alert_endpoints import AlertEventShape, AlertShape, SilenceShape
from panel.api.alerts.route_endpoints import (
    AlertMessageShape,
    AlertRouteBody,
    AlertRouteShape,
    OwnAlertRouteBody,
)
from panel.api.benchmarks.benchmark_bodies import BenchmarkBody
from panel.api.benchmarks.benchmark_shapes import BenchmarkRunShape, BenchmarkShape
from panel.api.benchmarks.gate_endpoints import GateShape
from panel.api.customers.cache_plan_endpoints import CachePlanBody, CachePlanShape
from panel.api.customers.customer_endpoints import CustomerBody, CustomerShape, MandateShape
from panel.api.customers.order_endpoints import OrderShape
from panel.api.customers.proof_endpoints import ProofShape
from panel.api.disk_endpoints import MediaCheckShape
from panel.api.events.webhook_endpoints import WebhookBody, WebhookDeliveryShape, WebhookShape
from panel.api.framework.bodies import Body
from panel.api.framework.shape import Shape
from panel.api.host_endpoints import HostShape
from panel.api.hosts.hold_endpoints import HaltShape, MissingVolumeShape
from panel.api.hosts.tag_endpoints import TagLimitBody, TagLimitShape
from panel.api.hosts.timeline_endpoint import HostEventShape
from panel.api.jobs.bulk_endpoints import BulkChangeShape
from panel.api.jobs.job_shape import JobShape, StepShape
from panel.api.volumes.trace_endpoints import TraceShape
from panel.api.volumes.volume_resource import VolumeBody, VolumeShape
from panel.api.volumes.wish_shapes import ShownVolume
from panel.deliveries.alerts.route_forms import OwnRouteForm, RouteForm
from panel.deliveries.webhooks.webhook_forms import WebhookForm
from panel.models import (
    AlertDelivery,
    AlertRoute,
    ApiToken,
    Invitation,
    Mandate,
    Order,
    Proof,
    User,
    Webhook,
    WebhookDelivery,
)
from panel.staff.benchmarks.order_form import BenchmarkForm
from panel.staff.customers.pages import CustomerForm
from panel.staff.customers.plan_pages import CachePlanForm
from panel.staff.hosts.tag_pages import TagLimitForm
from panel.staff.volumes.record_pages import OwnerForm, RecordForm
from storage.models import (
    Benchmark,
    BenchmarkRun,
    CachePlan,
    Customer,
    HeatTrace,
    Host,
    HostChange,
    Member,
    Placement,
    TagLimit,
)

ROWS: dict[type[Shape], type[Any]] = {
    **{AlertEventShape: AlertEvent, AlertMessageShape: AlertDelivery, AlertRouteShape: AlertRoute},
    **{BenchmarkRunShape: BenchmarkRun, BenchmarkShape: Benchmark, GateShape: Benchmark},
    **{AlertShape: Alert, BulkChangeShape: BulkChange, CachePlanShape: CachePlan},
    **{CustomerShape: Customer, HaltShape: Halt, HostEventShape: HostChange, HostShape: Host},
    **{InvitationShape: Invitation, JobShape: Job, MandateShape: Mandate},
    **{MediaCheckShape: MediaCheck, MembershipShape: Member, MissingVolumeShape: Placement},
    **{OrderShape: Order, PersonShape: User, ProofShape: Proof, SilenceShape: Silence},
    **{StepShape: Step, TagLimitShape: TagLimit, TokenShape: ApiToken, VolumeShape: ShownVolume},
    **{TraceShape: HeatTrace, WebhookDeliveryShape: WebhookDelivery, WebhookShape: Webhook},
}
"""What each noun is shown of."""
ANNOTATED = {"SilenceShape.active"}
"""Fields of what a query adds to its rows."""
FORMS: dict[type[Body], tuple[type[forms.BaseForm], ...]] = {
    AlertRouteBody: (RouteForm,),
    BenchmarkBody: (BenchmarkForm,),
    CachePlanBody: (CachePlanForm,),
    CustomerBody: (CustomerForm,),
    OwnAlertRouteBody: (OwnRouteForm,),
    TagLimitBody: (TagLimitForm,),
    VolumeBody: (OwnerForm, RecordForm),
    WebhookBody: (WebhookForm,),
}
"""The forms of the pages that write the same."""
OF_PROGRAMS = {
    "OwnAlertRouteBody.paused_until": "The page offers spans, such as 4 hours.",
    "BenchmarkBody.cache_bytes": "The page takes GiB.",
    "BenchmarkBody.data_bytes": "The page takes GiB.",
    "BenchmarkBody.host": "The page takes host and group together.",
    "BenchmarkBody.vg": "The page takes host and group together.",
    "BenchmarkBody.seconds": "The page takes minutes.",
    "BenchmarkBody.warm_seconds": "The page takes minutes.",
    "BenchmarkBody.window": "The page takes both ends and the zone.",
    "CachePlanBody.price_minor": "The page takes an amount.",
    "CachePlanBody.size_bytes": "The page takes a number and its unit.",
    "VolumeBody.counts_heat": "The page has a button.",
    "VolumeBody.external_id": "The name that a billing system has for it.",
}
"""What the pages ask for in another way, or not at all."""


def sources() -> Iterator[Any]:
    """The fields that are read from attributes of rows, as cases."""
    for shape, row in ROWS.items():
        for name, field in shape().fields.items():
            child = getattr(field, "child", None)
            origin = (child if isinstance(child, Shape) else field).origin
            is_of_row = field.required or origin.staff or origin.detail
            path = origin.of or (name if is_of_row and not origin.given else None)
            case = f"{shape.__name__}.{name}"
            if isinstance(path, str) and case not in ANNOTATED:
                yield pytest.param(row, path.partition(".")[0], id=case)


@pytest.mark.parametrize(("row", "name"), list(sources()))
def test_each_field_is_of_something_that_the_row_has(row: type[Any], name: str) -> None:
    fields = [each.name for each in row._meta.get_fields()] if issubclass(row, Model) else []
    assert name in fields or hasattr(row, name)


def test_the_nouns_are_looked_at() -> None:
    cases = {each.id for each in sources()}
    assert {"HostShape.name", "VolumeShape.label", "JobShape.steps"} <= cases
    assert len(cases) > 150


def written() -> Iterator[Any]:
    """The fields of bodies that a page writes too, as cases."""
    for body, pages in FORMS.items():
        known = {name for page in pages for name in page.base_fields}
        for name, field in body().fields.items():
            case = f"{body.__name__}.{name}"
            if case not in OF_PROGRAMS:
                yield pytest.param(field.source, known, id=case)


@pytest.mark.parametrize(("source", "known"), list(written()))
def test_what_a_program_writes_a_page_writes_too(source: str, known: set[str]) -> None:
    assert source in known


def test_what_a_page_writes_otherwise_is_a_field() -> None:
    names = {f"{body.__name__}.{name}" for body in FORMS for name in body().fields}
    assert set(OF_PROGRAMS) <= names

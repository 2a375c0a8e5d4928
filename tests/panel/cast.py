"""Two customers with everything a customer can have, and the staff: who meets whom in the tests of
permissions. Built from `tests.make` and `tests.scene`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.db import transaction
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from jobs.hosts import enrolment
from jobs.models import Alert, AlertEvent, BulkChange, Job, Line, Origin, Silence, State
from panel.accounts import api_tokens, invitations, mail_preferences
from panel.accounts.authentication import login_links
from panel.accounts.authentication.second_factor import seal
from panel.accounts.mail_preferences import MailPreference
from panel.benchmarks.share_links import share_by_link
from panel.deliveries.signature import new_secret
from panel.models import (
    AlertDelivery,
    AlertRoute,
    Intent,
    Invitation,
    Mandate,
    NoticeKind,
    Order,
    OrderState,
    Proof,
    ProofState,
    SavedView,
    User,
    Webhook,
    WebhookDelivery,
)
from panel.staff.kiosk.kiosk_links import make_link
from storage import row_security
from storage.access import MemberRole, StaffRole
from storage.models import (
    CachePlan,
    Customer,
    Gate,
    HeatTrace,
    HostChange,
    HostChangeKind,
    Member,
    PhysicalDisk,
    TagLimit,
)
from tests import make
from tests.benchmark_scene import EVENING, make_benchmark
from tests.panel.permissions import ROLES, Row
from tests.proven import prove
from tests.scene import HOST_KEY, Scene, end, job, scene, step

NOUNS = {
    **{"volumes": "volume", "hosts": "host", "customers": "customer", "jobs": "job"},
    **{"orders": "order", "cache-plans": "plan", "people": "person", "members": "member"},
    **{"alerts": "alert", "silences": "silence", "alert-routes": "alert_route"},
    **{"webhooks": "webhook", "bulk-changes": "bulk", "tokens": "token"},
    **{"benchmarks": "benchmark", "gates": "gate"},
    **{"invitations": "invitation", "messages": "alert_message", "tag-limits": "tag_limit"},
}
"""The nouns of the API's addresses, and what of `Cast.ids` stands behind each."""


@dataclass(frozen=True, slots=True)
class Party:
    """A customer, their volume on a host of its own, their jobs, their people and a token."""

    customer: Customer
    there: Scene
    job: Job
    preview: Job
    order: Order
    viewer: User
    owner: User
    member: Member
    owners_token: str
    owners_token_key: str

    @property
    def traces(self) -> tuple[str, ...]:
        """What of theirs no one of another customer may ever read."""
        return (
            self.customer.name,
            self.customer.key,
            self.customer.external_id,
            self.there.volume.label,
            self.there.volume.key,
            self.there.volume.external_id,
            self.there.volume.guest.split()[0],
            self.there.host.name,
            self.there.host.key,
            self.there.lv.name,
            self.job.key,
            self.preview.key,
            self.order.key,
            self.viewer.email,
            self.owner.email,
            self.owners_token_key,
        )


def party(word: str) -> Party:
    """Everything of it carries the word."""
    customer = Customer.objects.create(name=f"{word} Ltd", external_id=f"{word}-c1")
    there = scene(make.lv(f"{word}-lv"), label=f"{word} disk", host={"name": f"{word}-host"})
    there.volume.customer = customer
    there.volume.external_id, there.volume.guest = f"{word}-v1", f"{word}12 · vda"
    there.volume.save()
    ordered = job(there, origin=Origin.PORTAL)
    Line.objects.create(job=ordered, n=1, text=f"{word} output")
    step(ordered)
    end(ordered)
    preview = job(there, dry_run=True)
    step(preview)
    end(preview, State.SUCCEEDED)
    viewer, owner = make.user(f"viewer@{word}.org"), make.user(f"owner@{word}.org")
    member = customer.members.create(user=viewer, role=MemberRole.VIEWER)
    customer.members.create(user=owner, role=MemberRole.OWNER)
    token, text = api_tokens.issue(owner, name=f"{word} token", scopes=["read"], days=1)
    order = Order.objects.create(
        customer=customer,
        volume=there.volume,
        intent=Intent.UPGRADE,
        state=OrderState.COMPLETED,
        currency="EUR",
        price_minor=490,
        charge_minor=0,
        next_invoice_minor=490,
        next_invoice_at=timezone.now(),
        ended_at=timezone.now(),
    )
    Mandate.objects.create(
        customer=customer,
        currency="EUR",
        cap_charge_minor=10_000,
        cap_period_minor=10_000,
        earliest_next_at=timezone.now(),
    )
    proof(order, f"{word} was changed again.")
    return Party(customer, there, ordered, preview, order, viewer, owner, member, text, token.key)


def proof(order: Order, reason: str) -> None:
    """The order's proof, which came to nothing."""
    now = timezone.now()
    ending = {"reason_code": "changed", "reason": reason, "ended_at": now}
    Proof.objects.create(
        order=order,
        state=ProofState.IMPOSSIBLE,
        before_start=now,
        before_end=now,
        block_seconds=60,
        warm_by=now,
        **ending,
    )


@dataclass(slots=True)
class Cast:
    """Acme is whose objects are asked for; the other customer is Zebra."""

    acme: Party
    zebra: Party
    clients: dict[str, Client]
    bearers: dict[str, dict[str, str]]
    ids: dict[str, str | int]
    price: dict[str, str]

    def path(self, row: Row) -> str:
        """The address of the row's route, for Acme's objects."""
        return reverse(row.name, args=[self.ids[arg] for arg in row.args])

    def ask(self, role: str, row: Row, method: str = "") -> Any:
        """Send what the row says as that role, by its session or its token; then undo it."""
        # As in the web server, which sees nothing of customers by itself.
        with transaction.atomic(), row_security.scope(row_security.NO_ROWS):
            response = self._ask(role, row, method)
            transaction.set_rollback(True)
        return response

    def _ask(self, role: str, row: Row, method: str) -> Any:
        method = method or row.method
        data = json.dumps({name: text.format(**self.ids) for name, text in row.data.items()})
        if not row.is_api:
            form = {} if method == "GET" else json.loads(data)
            client = self.clients[role]
            cookies = client.cookies.copy()
            ask = getattr(client, method.lower())
            response = ask(self.path(row), form if method in ("GET", "POST") else None)
            # A language that was chosen, or the end of a session, is undone in the browser too.
            client.cookies = cookies
            return response
        return Client().generic(
            method,
            self.path(row),
            "" if method == "GET" else data,
            content_type="application/json",
            # What demands a key says so before it looks whose the request is.
            headers={**self.bearers[role], "Idempotency-Key": "once"},
        )


@pytest.fixture(scope="module")
def people(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Cast]:
    """Made once for all tests of a module, and rolled back with the last one. Their proof of who
    they are lasts as long, however slow the machine is. Customers may order: who may not is refused
    for what they are."""
    lasting = override_settings(TIERCEL_STEP_UP_SECONDS=86_400, TIERCEL_CUSTOMERS_MAY_ORDER=True)
    with django_db_blocker.unblock(), lasting, transaction.atomic():
        yield cast()
        transaction.set_rollback(True)


def cast() -> Cast:
    """Acme, Zebra and three of the staff."""
    acme, zebra = party("acme"), party("zebra")
    staff = {
        role.value: make.staff_user(f"{role}@provider.org", staff_role=role) for role in StaffRole
    }
    plan = CachePlan.objects.create(name="Fast", size_bytes=2**30, price_minor=490, currency="EUR")
    stock()
    _, enrol_token = enrolment.begin_enrolment("enrolling", "198.51.100.7")
    _, invitation_token = invitations.to_staff("new@provider.org", StaffRole.ADMIN, None)
    login_token = login_links.make_link(zebra.viewer, "/my/").rsplit("/", 1)[1]
    unverified = make.host(state="unverified", host_key="", host_key_seen=HOST_KEY)
    users = {"viewer": acme.viewer, "owner": acme.owner, "other": zebra.owner, **staff}
    bulk_change = BulkChange.objects.create(
        actor=staff["admin"], action="retire", items=[[acme.there.volume.key, None, "", {}]]
    )
    alert, quiet = alerts_of(acme)
    message = AlertDelivery.objects.create(
        route=AlertRoute.objects.create(name="On call", kind="email", user=staff["admin"])
    )
    message.events.set(alert.events.all())
    make.physical_disk(acme.there.host)
    restart = HostChange.objects.create(
        host=acme.there.host,
        at=timezone.now() - timedelta(days=30),
        kind=HostChangeKind.KERNEL,
        before="6.1.0-26",
        after="6.1.0-28",
    )
    measured = make_benchmark(acme.there.host, EVENING, timezone.now())
    share_by_link(measured)
    Gate.objects.create(benchmark=measured, kernels=["6.1.0-26", "6.1.0-28"], boots_a_side=4)
    screen, kiosk_address = make_link("Office", staff["admin"])
    webhook = Webhook.objects.create(
        name="Scripts", url=seal("https://scripts.example.org/"), secret=seal(new_secret())
    )
    sent = WebhookDelivery.objects.create(webhook=webhook, subject="test")
    view = SavedView.objects.create(user=staff["admin"], listing="volumes", name="Slow")
    return Cast(
        acme,
        zebra,
        {role: browser(users.get(role)) for role in ROLES},
        {role: bearer(users.get(role)) for role in ROLES},
        {
            "host": acme.there.host.key,
            "fault": "bcache_bvec_5_15",
            "restart": restart.pk,
            "disk": PhysicalDisk.objects.get(host=acme.there.host).key,
            "unverified": unverified.key,
            "volume": acme.there.volume.key,
            "job": acme.job.key,
            "preview": acme.preview.key,
            "order": acme.order.key,
            "customer": acme.customer.key,
            "person": acme.viewer.pk,
            "member": acme.member.pk,
            "plan": plan.key,
            "tag_limit": TagLimit.objects.create(tag="nvme", slow_read_ms=5).key,
            "heat_trace": HeatTrace.objects.create(
                volume=acme.there.volume, host=acme.there.host, minutes=15, chunk_bytes=65_536
            ).key,
            "benchmark": measured.key,
            "gate": measured.key,
            "benchmark_link": measured.share_key,
            "kiosk_link": screen.key,
            "kiosk_token": kiosk_address.rstrip("/").rpartition("/")[2],
            "nowhere": "no/where",
            "document": "operators",
            "invitation": Invitation.objects.get(email="new@provider.org").pk,
            "bulk": bulk_change.key,
            "list_name": "volumes",
            "kind": "customers",
            "view": view.pk,
            "alert": alert.key,
            "silence": quiet.key,
            "alert_route": message.route.key,
            "alert_message": message.key,
            "webhook": webhook.key,
            "webhook_message": sent.key,
            "token": acme.owners_token_key,
            "session": _session_of(acme.owner).pk,
            "enrol_token": enrol_token,
            "invitation_token": invitation_token,
            "login_token": login_token,
            "notices_token": mail_preferences.link(
                MailPreference(zebra.viewer, NoticeKind.DONE)
            ).rsplit("/", 1)[1],
        },
        {"price_minor": str(plan.price_minor), "currency": plan.currency},
    )


def alerts_of(party: Party) -> tuple[Alert, Silence]:
    """An open alert of the party's volume, and a silence."""
    now = timezone.now()
    alert = Alert.objects.create(
        fingerprint="f" * 32, family="drift", code="drift", severity="warning", rank=2,
        worst_rank=2, host=party.there.host, volume=party.there.volume, message="It differs.",
        first_seen_at=now, present_since=now, opened_at=now, notified_at=now,
    )  # fmt: skip
    AlertEvent.objects.create(alert=alert, kind="opened", rank=2, is_notified=True)
    quiet = Silence.objects.create(
        volume=party.there.volume,
        code="unfinished",
        reason="Being built.",
        until=now + timedelta(hours=1),
    )
    return alert, quiet


def stock() -> None:
    """Volumes without a customer, in every state that has buttons of its own."""
    scene(make.lv("cached-lv", cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")), label="cached")
    found = scene(make.lv("found-lv"), label="found", managed=False)
    make.placement(make.volume(label="planned"), found.host, lv_uuid=None)
    job(scene(make.lv("busy-lv"), label="busy"))
    error = {"code": "cmd_failed", "message": "lvconvert ended with 5", "correction": "Look."}
    stuck = scene(make.lv("stuck-lv"), label="stuck")
    job(stuck, state=State.NEEDS_ATTENTION, error=error)


def _session_of(user: User) -> UserSession:
    """Another one than that of the browser in the tests."""
    key = browser(user).session.session_key
    return UserSession.objects.create(user=user, session_key=key, ip="203.0.113.7")


def browser(user: User | None) -> Client:
    """One in which the person has just signed in."""
    client = Client()
    if user is not None:
        client.force_login(user)
        prove(client, user)
    return client


def bearer(user: User | None) -> dict[str, str]:
    """The header with a token for everything that the person may have tokens for."""
    if user is None:
        return {}
    _, text = api_tokens.issue(user, name="all", scopes=api_tokens.scopes_of(user), days=1)
    return {"Authorization": f"Bearer {text}"}

"""The second wall: what PostgreSQL shows a session whose query forgot to ask for less."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.db import DataError, ProgrammingError, connection, models, transaction
from django.utils import timezone

from jobs.models import Job
from jobs.queue.reservations import reserved
from panel.models import Invitation, Message, Notice, SoldOutView, UsageLine
from storage import row_security
from storage.byte_sizes import GIB
from storage.models import (
    CachePlan,
    Customer,
    HeatDay,
    HeatTrace,
    LatestSample,
    Resolution,
    Sample,
    SampleChunk,
    SizeForecast,
    SubjectKind,
    Volume,
)
from storage.planner.wish import LvmCache, Wish
from tests import make
from tests.panel.cast import Party, party
from tests.scene import job

SIGN_IN = "It is read and written before anybody is known."
NOT_PERSONAL = "Nothing in it is of a customer, a host or a person."
SOLD = "What is sold: `visible_to` leaves out what is not on offer."
EXEMPT = {
    "account_emailaddress": SIGN_IN,
    "account_emailconfirmation": SIGN_IN,
    "auth_group": NOT_PERSONAL,
    "auth_group_permissions": NOT_PERSONAL,
    "auth_permission": NOT_PERSONAL,
    "django_content_type": NOT_PERSONAL,
    "django_migrations": NOT_PERSONAL,
    "django_session": SIGN_IN,
    "jobs_alertround": NOT_PERSONAL,
    "jobs_halt": NOT_PERSONAL,
    "jobs_installation": NOT_PERSONAL,
    "jobs_lifesign": NOT_PERSONAL,
    "jobs_vgfence": NOT_PERSONAL,
    "mfa_authenticator": SIGN_IN,
    "panel_apitoken": SIGN_IN,
    "panel_endpoint": NOT_PERSONAL,
    "panel_idempotentrequest": "Answers are found by their person, who is part of the key.",
    "panel_loginlink": SIGN_IN,
    "panel_mute": SIGN_IN,
    "panel_ssdprice": NOT_PERSONAL,
    "panel_stepupcode": SIGN_IN,
    "panel_user": SIGN_IN,
    "panel_user_groups": NOT_PERSONAL,
    "panel_user_user_permissions": NOT_PERSONAL,
    "pghistory_context": "The triggers of histories write it for every person who changes a row.",
    "storage_cacheplan": SOLD,
    "storage_cacheplan_hosts": SOLD,
    "storage_forecastrecord": "Counts over all orders, which every forecast may quote.",
    "storage_taglimit": NOT_PERSONAL,
    "usersessions_usersession": SIGN_IN,
}
"""Tables that have no policy, each with the reason why."""
STAFF_ONLY = {
    "jobs_auditentry",
    "jobs_bulkchange",
    "jobs_mediacheck",
    "panel_billingcall",
    "storage_benchmark",
    "storage_benchmarkfile",
    "storage_benchmarkrun",
    "storage_gate",
    "storage_gateboot",
    "storage_diskround",
    "storage_physicaldisk",
    "storage_diskreading",
    "storage_device",
    "storage_devicesample",
    "storage_latestdevicesample",
    "storage_physicaldiskevent",
    "storage_taglimitevent",
    "storage_cachecondition",
    "storage_cacheplanevent",
    "storage_hostchange",
    "storage_hostevent",
    "storage_hostoutline",
    "storage_hostload",
    "storage_measuredrate",
    "storage_fleetload",
    "storage_hostactivity",
    "jobs_alert",
    "jobs_alertevent",
    "jobs_silence",
    "panel_alertdelivery",
    "panel_alertdelivery_events",
    "panel_alertroute",
    "panel_alertroute_hosts",
    "panel_kiosklink",
    "panel_securityentry",
    "panel_webhook",
    "panel_webhookdelivery",
}
"""Tables that tell of customers or of the hosts below them, and are no customer's."""
UNTIED = {"storage_host", "storage_samplechunk", "panel_savedview"}
"""Tables without a foreign key to a customer: of hosts, which their volumes lie on; of figures,
whose rows leave with their partition; of a person's own lists."""


def leads_to(model: type[models.Model]) -> set[type[models.Model]]:
    fields = model._meta.get_fields()
    return {
        field.related_model
        for field in fields
        if (field.many_to_one or field.one_to_one) and field.concrete and field.related_model
    }  # type: ignore[misc]


def tenant_tables() -> set[str]:
    """Every table from whose rows foreign keys lead to a customer, over however many others."""
    all_models = apps.get_models(include_auto_created=True)
    found: set[type[models.Model]] = {Customer}
    while more := {each for each in all_models if leads_to(each) & found} - found:
        found |= more
    return {model._meta.db_table for model in found}


def enclosed_tables() -> set[str]:
    """Tables with a policy for reading and for writing that is in force."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid WHERE"
            " relrowsecurity AND polcmd = '*' AND polqual IS NOT NULL AND polwithcheck IS NOT NULL"
        )
        return {name for (name,) in cursor.fetchall()}


@pytest.mark.django_db
def test_every_table_that_leads_to_a_customer_is_walled() -> None:
    assert tenant_tables() | STAFF_ONLY | UNTIED == enclosed_tables()


@pytest.mark.django_db
def test_every_other_table_says_why_it_has_no_policy() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
            " AND relkind IN ('r', 'p') AND NOT relispartition"
        )
        tables = {name for (name,) in cursor.fetchall()}
    assert tables - enclosed_tables() == EXEMPT.keys()


@pytest.mark.django_db
def test_the_panel_asks_as_a_role_that_the_wall_binds() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user, row_security_active('storage_volume')")
        assert cursor.fetchone() == ("tiercel_app", True)
        cursor.execute("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")
        assert cursor.fetchone() == (False,)


def sees(party: Party) -> str:
    return str(party.owner.pk)


def rows(model: type[models.Model]) -> set[object]:
    return set(model._default_manager.values_list("pk", flat=True))


def papers(of: Party, word: str) -> None:
    """A row in each table that a party has none in."""
    now, volume = timezone.now(), of.there.volume
    UsageLine.objects.create(
        name=word, kind="charge", customer=of.customer, volume=volume, order=of.order,
        description=word, currency="EUR", amount_minor=1, period_start=now, period_end=now,
    )  # fmt: skip
    Message.objects.create(name=word, type="test", order=of.order, payload={})
    Notice.objects.create(order=of.order, user=of.owner, kind="done")
    Invitation.objects.create(
        digest=word, customer=of.customer, member_role="viewer", expires_at=now
    )
    LatestSample.objects.create(
        volume=volume, host=of.there.host, at=now, boot_id=word, boottime_ns=1, counters={}
    )
    zero = dict.fromkeys(
        ("reads", "writes", "read_sectors", "write_sectors", "read_ms", "write_ms"), 0
    )
    Sample.objects.create(volume=volume, ts=now, dt_ms=1, **zero)
    HeatDay.objects.create(volume=volume, day=now.date(), records=b"")
    HeatTrace.objects.create(volume=volume, host=of.there.host, minutes=1, chunk_bytes=65_536)
    SizeForecast.objects.create(volume=volume, made_at=now)
    plan = CachePlan.objects.create(name=word, size_bytes=GIB, price_minor=1, currency="EUR")
    SoldOutView.objects.create(volume=volume, plan=plan, seen_at=now)
    SampleChunk.objects.create(
        kind=SubjectKind.VOLUME, subject_id=volume.pk, resolution=Resolution.DAY, start=now,
        format=1, rows=0, is_rolled_up=True, data=b"",
    )  # fmt: skip


@pytest.mark.django_db
def test_each_customer_sees_their_own_rows_no_rows_shows_none_and_all_shows_all() -> None:
    acme, zebra = party("acme"), party("zebra")
    papers(acme, "acme")
    papers(zebra, "zebra")
    tables = [each for each in apps.get_models() if each._meta.db_table in enclosed_tables()]
    shown = set()
    for model in tables:
        every = rows(model)
        with row_security.scope(sees(acme)):
            of_acme = rows(model)
        with row_security.scope(sees(zebra)):
            of_zebra = rows(model)
        with row_security.scope(row_security.NO_ROWS):
            assert rows(model) == set(), model
        assert not of_acme & of_zebra, model
        assert of_acme | of_zebra <= every, model
        if of_acme and of_zebra:
            shown.add(model._meta.db_table)
    assert shown == enclosed_tables() - STAFF_ONLY - {"panel_savedview"}


@pytest.mark.django_db
def test_what_is_foreign_can_be_neither_changed_nor_made_nor_given_away() -> None:
    acme, zebra = party("acme"), party("zebra")
    volume, stranger = acme.there.volume, zebra.there.volume
    with row_security.scope(sees(acme)):
        assert Volume.objects.filter(pk=stranger.pk).update(label="mine") == 0
        assert Job.objects.filter(pk=zebra.job.pk).delete() == (0, {})
        assert Volume.objects.filter(pk=volume.pk).update(label="mine") == 1
        for write in (
            lambda: Volume.objects.filter(pk=volume.pk).update(customer=zebra.customer),
            lambda: make.placement(stranger, zebra.there.host, lv_uuid=None),
            lambda: zebra.customer.members.create(user=acme.owner),
            lambda: Volume.objects.create(label="free", size_bytes=1),
        ):
            with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
                write()
    assert Volume.objects.get(pk=volume.pk).events.filter(label="acme disk").exists()  # type: ignore[attr-defined]


@pytest.mark.django_db
@pytest.mark.parametrize("value", ["ALL", "all ", "0", "-1", "1; DROP", "9" * 30, "\u0661"])
def test_a_word_that_means_no_rows_shows_nothing(value: str) -> None:
    party("acme")
    with row_security.scope(value):
        assert not Customer.objects.exists()


@pytest.mark.django_db
def test_a_session_without_a_scope_shows_nothing() -> None:
    party("acme")
    assert Customer.objects.exists()
    connection.connection.execute("RESET tiercel.wall")
    assert connection.connection.execute("SELECT count(*) FROM storage_customer").fetchone() == (0,)
    connection._session_scope = None  # type: ignore[attr-defined]


@pytest.mark.django_db
def test_what_a_rollback_undoes_is_an_event_again() -> None:
    acme = party("acme")
    party("zebra")
    assert Customer.objects.count() == 2
    with row_security.scope(sees(acme)):
        with pytest.raises(DataError), transaction.atomic():
            assert Customer.objects.count() == 1
            Customer.objects.extra(where=["1 / 0 = 1"]).exists()
        assert Customer.objects.count() == 1
    with row_security.scope(row_security.NO_ROWS):
        assert Customer.objects.count() == 0


@pytest.mark.django_db
def test_a_wall_that_ends_amid_a_broken_transaction_does_not_hide_the_error() -> None:
    acme = party("acme")
    with pytest.raises(DataError), transaction.atomic(), row_security.scope(sees(acme)):
        Customer.objects.extra(where=["1 / 0 = 1"]).exists()
    assert Customer.objects.count() == 1


@pytest.mark.django_db
def test_a_partition_of_samples_cannot_be_asked_past_the_wall() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT inhrelid::regclass FROM pg_inherits"
            " WHERE inhparent = 'storage_sample'::regclass"
        )
        partitions = [name for (name,) in cursor.fetchall()]
        cursor.execute(
            "SELECT bool_or(has_table_privilege(name, 'SELECT')) FROM unnest(%s::text[]) AS name",
            [partitions],
        )
        assert partitions
        assert cursor.fetchone() == (False,)


@pytest.mark.django_db
def test_space_promised_to_another_customer_counts_for_every_customer() -> None:
    acme, zebra = party("acme"), party("zebra")
    there = zebra.there
    wish = Wish(there.volume.size_bytes, cache=LvmCache("c-aaaaaaaaaaaaaaaa", GIB))
    job(there, wish=wish.to_json())
    with row_security.scope(sees(acme)):
        assert not Job.objects.filter(volume=there.volume).exists()
        promised = reserved(there.host, there.facts)
    assert promised[make.VG_UUID] >= GIB

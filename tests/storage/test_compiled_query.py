"""A query that is compiled once gives what the ORM gives."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest
from django.db import connection, transaction
from django.db.models import Exists, F, QuerySet
from django.test.utils import CaptureQueriesContext

from storage import row_security
from storage.compiled_query import CompiledQuery
from storage.database_clock import ClockNow
from storage.models import Host, Placement, Volume
from tests import make

pytestmark = pytest.mark.django_db


def placements(volume_id: int, host_id: int) -> QuerySet[Placement]:
    rows = Placement.objects.select_related("volume", "volume__customer", "host")
    rows = rows.annotate(now=ClockNow(), label=F("volume__label"), any=Exists(Host.objects.all()))
    return rows.defer("host__facts").filter(host=host_id, volume=volume_id, until=None)


def test_it_gives_what_the_orm_gives_with_relations_annotations_and_deferred_columns() -> None:
    query = CompiledQuery(Placement, placements, keys=2)
    for number in range(3):
        host = make.host(name=f"h{number}", facts={"disks": [number]}, hello={"n": number})
        volume = make.volume(wish={"tier": number}, customer=make.customer() if number else None)
        made = make.placement(volume, host)
        with CaptureQueriesContext(connection) as asked:
            found = query.get(volume.pk, host.pk)
            assert (found, found.volume, found.host) == (made, volume, host)
            assert (found.volume.wish, found.host.hello) == ({"tier": number}, {"n": number})
            assert found.volume.customer == volume.customer
            assert (found.label, found.any, found.since) == (volume.label, True, made.since)
        assert len(asked) == 1
        assert found.host.get_deferred_fields() == {"facts"}
        ordinary = placements(volume.pk, host.pk).get()
        ignored = {"_state", "now"}
        assert {k: v for k, v in vars(found).items() if k not in ignored} == {
            k: v for k, v in vars(ordinary).items() if k not in ignored
        }
        assert vars(found._state)["db"] == "default"
        assert not found._state.adding


def test_what_is_not_there_is_none_or_an_error() -> None:
    query = CompiledQuery(Host, lambda pk: Host.objects.filter(pk=pk))
    assert query.first(1) is None
    assert query.first(None) is None
    with pytest.raises(Host.DoesNotExist):
        query.get(1)


@pytest.mark.django_db(transaction=True)
def test_it_is_compiled_once_for_all_threads() -> None:
    built = []

    def hosts(pk: int) -> QuerySet[Host]:
        built.append(pk)
        return Host.objects.filter(pk=pk)

    query, host, found = CompiledQuery(Host, hosts), make.host(), []

    def ask() -> None:
        found.append(query.get(host.pk))
        connection.close()

    for _ in range(3):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    assert found == [host] * 3
    assert len(built) == 1


def test_it_reads_what_a_statement_gives_back() -> None:
    query = CompiledQuery(Host, lambda pk: Host.objects.filter(pk=pk))
    host = make.host(facts={"disks": [1]})
    change = "UPDATE storage_host SET name = %(name)s WHERE id = %(id)s RETURNING {columns}, 7"
    changed = query.returned(change, {"name": "other", "id": host.pk}, "seven")
    assert changed is not None
    assert (changed, changed.name, changed.facts) == (host, "other", {"disks": [1]})
    assert vars(changed)["seven"] == 7
    host.refresh_from_db()
    assert host.name == "other"
    assert query.returned(change, {"name": "other", "id": -1}, "seven") is None


def test_postgresql_plans_it_once_a_session_and_again_after_a_rollback() -> None:
    query = CompiledQuery(Host, lambda pk: Host.objects.filter(pk=pk))
    host = make.host()

    def prepared() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE %s",
                           ['%FROM "storage_host"%'])  # fmt: skip
            return int(cursor.fetchone()[0])

    for _ in range(3):
        assert query.get(host.pk) == host
        assert prepared() == 1
    with suppress(ZeroDivisionError), transaction.atomic():
        raise ZeroDivisionError
    assert query.get(host.pk) == host


def test_it_sees_only_the_rows_that_the_session_may_see() -> None:
    query = CompiledQuery(Volume, lambda pk: Volume.objects.filter(pk=pk))
    volume = make.volume()
    assert query.get(volume.pk) == volume
    with row_security.scope(row_security.NO_ROWS):
        assert query.first(volume.pk) is None
    assert query.get(volume.pk) == volume

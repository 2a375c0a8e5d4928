"""The order of events, and that a reader who goes on from a place misses none."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from storage import event_list, row_security
from storage.models import Event
from tests import make


def write(name: str) -> None:
    Event.objects.create(key=name, kind="host.added", subject=f"host:{name}", host_key=name)


def read_on(place: int) -> list[tuple[int, str]]:
    event_list.give_places()
    rows = Event.objects.listed().filter(position__gt=place)
    return [(position or 0, key) for position, key in rows.values_list("position", "key")]


@pytest.mark.django_db(transaction=True)
def test_an_event_that_is_committed_late_is_not_missed() -> None:
    wrote, commit = threading.Event(), threading.Event()

    def late() -> None:
        with row_security.scope(row_security.ALL), transaction.atomic():
            write("late")
            wrote.set()
            assert commit.wait(20)
        connection.close()

    with ThreadPoolExecutor() as pool:
        writer = pool.submit(late)
        assert wrote.wait(20)
        write("early")
        ((place, key),) = read_on(0)
        assert key == "early"
        assert read_on(place) == []
        commit.set()
        writer.result()
    rows = dict(Event.objects.values_list("key", "pk"))
    assert rows["late"] < rows["early"]
    assert [key for _, key in read_on(place)] == ["late"]


@pytest.mark.django_db(transaction=True)
def test_a_reader_that_reads_on_while_others_write_sees_each_event_once() -> None:
    writers, each_writes = 6, 12
    over = threading.Event()

    def several(writer: int) -> None:
        chance = random.Random(writer)
        for n in range(each_writes):
            with row_security.scope(row_security.ALL), transaction.atomic():
                write(f"{writer}-{n}")
                over.wait(chance.random() / 100)
                if chance.random() < 0.2:
                    transaction.set_rollback(True)
        connection.close()

    def numbering() -> None:
        with row_security.scope(row_security.ALL):
            while not over.is_set():
                event_list.give_places()
        connection.close()

    seen: list[tuple[int, str]] = []
    with ThreadPoolExecutor() as pool:
        numberers = [pool.submit(numbering) for _ in range(2)]
        writing = [pool.submit(several, n) for n in range(writers)]
        while not all(each.done() for each in writing):
            seen += read_on(seen[-1][0] if seen else 0)
        over.set()
        for each in (*writing, *numberers):
            each.result()
    seen += read_on(seen[-1][0] if seen else 0)
    keys = [key for _, key in seen]
    assert len(keys) == len(set(keys))
    assert set(keys) == set(Event.objects.values_list("key", flat=True))
    assert [place for place, _ in seen] == sorted({place for place, _ in seen})
    for writer in range(writers):
        own = [int(key.partition("-")[2]) for key in keys if key.startswith(f"{writer}-")]
        assert own == sorted(own)


@pytest.mark.django_db(transaction=True)
def test_one_process_numbers_at_a_time() -> None:
    write("a")
    holds, release = threading.Event(), threading.Event()

    def holding() -> None:
        with row_security.scope(row_security.ALL), transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [event_list.LOCK])
            holds.set()
            assert release.wait(20)
        connection.close()

    with ThreadPoolExecutor() as pool:
        holder = pool.submit(holding)
        assert holds.wait(20)
        assert event_list.give_places() == 0
        release.set()
        holder.result()
    assert event_list.give_places() == 1


@pytest.mark.django_db
def test_places_go_on_after_everything_was_forgotten() -> None:
    write("old")
    event_list.give_places()
    place = Event.objects.get().position
    Event.objects.update(at=timezone.now() - event_list.KEPT - timedelta(hours=1))
    assert event_list.prune_events(timezone.now()) == 1
    write("new")
    event_list.give_places()
    assert place is not None
    assert (Event.objects.get().position or 0) > place


@pytest.mark.django_db
def test_an_event_is_kept_for_thirty_days() -> None:
    write("kept")
    event_list.give_places()
    Event.objects.update(at=timezone.now() - timedelta(days=29, hours=23))
    assert event_list.prune_events(timezone.now()) == 0


@pytest.mark.django_db
def test_a_request_of_a_customer_gives_places_to_the_events_of_others_too() -> None:
    make.host()
    with row_security.scope(row_security.NO_ROWS):
        assert event_list.give_places() == 1

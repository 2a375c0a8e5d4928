"""A stored inventory is decoded once, and again as soon as another one is stored."""

from __future__ import annotations

import pytest
from pytest_django import DjangoAssertNumQueries

from storage import stored_inventory as inventory_stored
from storage.discovery.ingest import apply_facts
from storage.models import Host
from storage.stored_inventory import inventories_of, inventory_of
from tests import make
from tests.storage.discovery.test_ingest import LATER, NOW

pytestmark = pytest.mark.django_db


def stored(host: Host) -> Host:
    return Host.objects.get(pk=host.pk)


def test_what_is_stored_is_decoded_once_until_it_changes() -> None:
    host, before, after = make.host(), make.facts(make.lv()), make.facts(make.lv("other"))
    assert inventory_of(stored(host)) is None
    apply_facts(host, make.inventory(before), NOW)
    first = inventory_of(stored(host))
    assert first == before
    assert inventory_of(stored(host)) is first
    apply_facts(host, make.inventory(after), LATER)
    assert inventory_of(stored(host)) == after


def test_what_an_older_version_stored_is_none() -> None:
    host = make.host()
    Host.objects.filter(pk=host.pk).update(facts={"lvs": []})
    assert inventory_of(stored(host)) is None


def test_only_some_hosts_are_kept_in_mind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory_stored, "HOSTS_LIMIT", 2)
    inventory_stored._known.clear()
    hosts = [make.host() for _ in range(3)]
    for host in hosts:
        apply_facts(host, make.inventory(make.facts(make.lv())), NOW)
        inventory_of(stored(host))
    assert list(inventory_stored._known) == [host.pk for host in hosts[1:]]


def test_of_a_host_that_came_without_it_only_another_inventory_is_read(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    host, before, after = make.host(), make.facts(make.lv()), make.facts(make.lv("other"))

    def without() -> Host:
        return Host.objects.without_inventory().get(pk=host.pk)

    apply_facts(host, make.inventory(before), NOW)
    assert inventory_of(without()) == before
    known = without()
    with django_assert_num_queries(0):
        assert inventory_of(known) == before
    apply_facts(host, make.inventory(after), LATER)
    changed = without()
    with django_assert_num_queries(1):
        assert inventory_of(changed) == after
    Host.objects.filter(pk=host.pk).update(facts={})
    assert inventory_of(without()) is None


def test_what_a_program_has_changed_in_a_host_it_read_is_never_taken_for_what_is_stored() -> None:
    host, before, after = make.host(), make.facts(make.lv()), make.facts(make.lv("other"))
    apply_facts(host, make.inventory(before), NOW)
    read = stored(host)
    read.facts = make.inventory(after)
    assert inventory_of(read) == after
    assert inventory_of(Host.objects.without_inventory().get(pk=host.pk)) == before


def test_a_program_that_saves_an_old_record_leaves_the_digest_of_the_facts_that_are_there() -> None:
    host, before, after = make.host(), make.facts(make.lv()), make.facts(make.lv("other"))
    apply_facts(host, make.inventory(before), NOW)
    old = Host.objects.without_inventory().get(pk=host.pk)
    assert inventory_of(Host.objects.without_inventory().get(pk=host.pk)) == before
    apply_facts(host, make.inventory(after), LATER)
    old.save()
    assert inventory_of(Host.objects.without_inventory().get(pk=host.pk)) == after


def test_of_many_hosts_those_that_are_not_known_are_read_together(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    hosts = [make.host() for _ in range(3)]
    for host in hosts:
        apply_facts(host, make.inventory(make.facts(make.lv(host.name))), NOW)
    with django_assert_num_queries(2):
        first = inventories_of(Host.objects.without_inventory())
    with django_assert_num_queries(1):
        assert inventories_of(Host.objects.without_inventory()) == first
    apply_facts(hosts[0], make.inventory(make.facts(make.lv("other"))), LATER)
    with django_assert_num_queries(2):
        after = inventories_of(Host.objects.without_inventory())
    changed = after.pop(hosts[0].pk)
    assert changed is not None and changed.lvs[0].name == "other"
    assert after == {pk: facts for pk, facts in first.items() if pk != hosts[0].pk}


def test_the_same_inventory_read_again_is_still_known(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    host, facts = make.host(), make.inventory(make.facts(make.lv()))
    apply_facts(host, facts, NOW)
    known = inventory_of(Host.objects.without_inventory().get(pk=host.pk))
    apply_facts(host, facts, LATER)
    shown = Host.objects.without_inventory().get(pk=host.pk)
    with django_assert_num_queries(0):
        assert inventory_of(shown) is known


def test_of_hosts_that_come_without_it_so_many_volumes_are_kept_in_mind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inventory_stored, "LVS_LIMIT", 3)
    inventory_stored._digested.clear()
    hosts = [make.host() for _ in range(4)]
    for host in hosts:
        apply_facts(host, make.inventory(make.facts(make.lv())), NOW)
        inventory_of(Host.objects.without_inventory().get(pk=host.pk))
    assert list(inventory_stored._digested) == [host.pk for host in hosts[1:]]

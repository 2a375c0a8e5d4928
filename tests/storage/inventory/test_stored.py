"""A stored inventory is decoded once, and again as soon as another one is stored."""

from __future__ import annotations

import pytest

from storage.discovery.ingest import apply_facts
from storage.inventory import stored as inventory_stored
from storage.inventory.stored import inventory_of
from storage.models import Host
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

from __future__ import annotations

import copy
import datetime as dt
import json
import threading
from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.byte_sizes import GIB, MIB
from storage.discovery.ingest import apply_facts, apply_hello
from storage.host_data import BadHostData
from storage.inventory.facts import HostFacts
from storage.models import Host, Placement, Volume
from tests import make

NOW = dt.datetime(2026, 11, 21, 4, 0, tzinfo=dt.UTC)
LATER = NOW + dt.timedelta(seconds=10)
KEY = "aaaaaaaabbbbbbbb"

pytestmark = pytest.mark.django_db


def apply(host: Host, facts: HostFacts, at: dt.datetime = NOW) -> HostFacts:
    return apply_facts(host, make.inventory(facts), at)


def placed(host: Host, lv_uuid: str) -> Placement:
    return Placement.objects.select_related("volume").get(host=host, lv_uuid=lv_uuid, until=None)


def test_every_public_lv_becomes_a_found_volume() -> None:
    host = make.host()
    web, data = make.lv("web12"), make.lv("data")
    hidden = make.lv("web12_corig", role=("private",))
    apply(host, make.facts(web, data, hidden))
    found = placed(host, web.uuid).volume
    assert (found.label, found.size_bytes, found.layout) == ("web12", 8 * GIB, "plain")
    assert not found.managed and found.customer is None and found.wish == {}
    assert Volume.objects.count() == 2
    assert {volume.label for volume in Volume.objects.placed_on(host)} == {"web12", "data"}


def test_the_same_inventory_twice_changes_nothing() -> None:
    host, facts = make.host(), make.facts(make.lv(), make.lv("data"))
    apply(host, facts)
    rows = list(Placement.objects.values())
    apply(host, facts, LATER)
    assert list(Placement.objects.values()) == rows
    assert Volume.objects.count() == 2


def test_the_inventory_is_stored_as_it_was_decoded() -> None:
    host, facts = make.host(), make.facts(make.lv(cache=make.dm_cache("c-aaaaaaaa")))
    apply(host, facts)
    host.refresh_from_db()
    assert host.inventory == facts
    assert host.facts_at == host.last_seen_at == NOW


def test_a_known_lv_keeps_its_volume_when_it_is_renamed_resized_and_tagged() -> None:
    host, volume = make.host(), make.volume(key=KEY, label="Shop")
    lv = make.lv("new-name", size_bytes=9 * GIB, tags=make.tags(KEY))
    make.placement(volume, host, lv_name="old-name", lv_uuid=lv.uuid)
    apply(host, make.facts(lv))
    now = placed(host, lv.uuid)
    assert now.volume == volume and now.lv_name == "new-name"
    assert (now.volume.label, now.volume.size_bytes, now.volume.managed) == ("Shop", 9 * GIB, True)


@pytest.mark.parametrize("tags", [(), ("tiercel",), make.tags("ccccccccdddddddd")])
def test_a_volume_whose_tag_is_gone_is_not_managed_any_more(tags: tuple[str, ...]) -> None:
    host, volume, lv = make.host(), make.volume(key=KEY, managed=True), make.lv(tags=tags)
    make.placement(volume, host, lv_uuid=lv.uuid)
    apply(host, make.facts(lv))
    volume.refresh_from_db()
    assert not volume.managed


def test_an_awaited_lv_gets_its_volume() -> None:
    host, volume = make.host(), make.volume(key=KEY)
    awaited = make.placement(volume, host, lv_uuid=None)
    lv = make.lv(f"v-{KEY}", tags=make.tags(KEY, unformatted=True))
    apply(host, make.facts(lv))
    assert placed(host, lv.uuid) == awaited
    volume.refresh_from_db()
    assert volume.managed and volume.layout == "bcache"
    assert Volume.objects.count() == 1


@pytest.mark.parametrize("copy_first", [True, False])
def test_a_copy_with_the_awaited_tag_is_only_found(copy_first: bool) -> None:
    host, volume = make.host(), make.volume(key=KEY)
    make.placement(volume, host, lv_uuid=None)
    real, copied = (make.lv(name, tags=make.tags(KEY)) for name in (f"v-{KEY}", "restored"))
    apply(host, make.facts(*((copied, real) if copy_first else (real, copied))))
    assert placed(host, real.uuid).volume == volume
    assert placed(host, copied.uuid).volume != volume
    assert not placed(host, copied.uuid).volume.managed


def test_two_lvs_with_one_name_and_tag_do_not_share_a_row() -> None:
    host, volume = make.host(), make.volume(key=KEY)
    make.placement(volume, host, lv_uuid=None)
    twins = [make.lv(f"v-{KEY}", tags=make.tags(KEY)) for _ in range(2)]
    for at in (NOW, LATER):
        apply(host, make.facts(*twins), at)
        assert placed(host, twins[0].uuid).volume == volume
        assert placed(host, twins[1].uuid).volume != volume
    assert Placement.objects.count() == 2


def test_the_tag_of_another_group_or_host_does_not_bind() -> None:
    host, other = make.host(), make.host()
    awaited = make.placement(make.volume(key=KEY), host, lv_uuid=None)
    lv = make.lv(f"v-{KEY}", tags=make.tags(KEY))
    elsewhere = make.lv(f"v-{KEY}", tags=make.tags(KEY), vg_uuid="another", vg_name="vg1")
    apply(other, make.facts(lv))
    apply(host, make.facts(elsewhere))
    awaited.refresh_from_db()
    assert awaited.lv_uuid is None
    assert Volume.objects.count() == 3


def test_a_tag_of_a_forgotten_volume_brings_its_key_back() -> None:
    host, lv = make.host(), make.lv(f"v-{KEY}", tags=make.tags(KEY))
    twin = make.lv("twin", tags=make.tags(KEY))
    apply(host, make.facts(lv, twin))
    assert placed(host, lv.uuid).volume.key == KEY
    assert placed(host, lv.uuid).volume.managed
    assert placed(host, twin.uuid).volume.key != KEY


def test_a_half_made_cache_device_is_no_volume() -> None:
    host = make.host()
    make.placement(make.volume(key=KEY), host, lv_uuid=None)
    apply(host, make.facts(make.lv(f"s-{KEY}", tags=make.tags(KEY, made="cset"), pvs=("md0",))))
    assert Volume.objects.count() == 1
    assert Placement.objects.get().lv_uuid is None


def test_a_volume_that_vanished_keeps_its_rows() -> None:
    host, lv = make.host(), make.lv()
    apply(host, make.facts(lv))
    apply(host, make.facts(), LATER)
    assert placed(host, lv.uuid).until is None
    apply(host, make.facts(lv), LATER + dt.timedelta(seconds=1))
    assert Volume.objects.count() == 1


def test_an_lv_that_left_keeps_its_history_and_starts_a_new_row() -> None:
    host, volume, lv = make.host(), make.volume(), make.lv()
    make.placement(volume, host, lv_uuid=lv.uuid, until=NOW)
    apply(host, make.facts(lv))
    assert placed(host, lv.uuid).volume != volume


def test_an_older_inventory_changes_nothing() -> None:
    host, lv = make.host(), make.lv()
    apply(host, make.facts(lv), LATER)
    older = apply(host, make.facts(lv, make.lv("late")), NOW)
    assert [each.name for each in older.lvs] == ["web12", "late"]
    host.refresh_from_db()
    assert host.facts_at == LATER and len(host.facts["lvs"]) == 1
    assert Volume.objects.count() == 1


def test_a_bcache_volume_that_is_not_registered_stays_a_bcache_volume() -> None:
    host, uuid = make.host(), make.lvm_uuid()
    backing = make.bcache(size_bytes=8 * GIB - 4 * MIB)
    apply(host, make.facts(make.lv(uuid=uuid, bcache=backing)))
    apply(host, make.facts(make.lv(uuid=uuid)), LATER)
    volume = placed(host, uuid).volume
    assert (volume.layout, volume.size_bytes) == ("bcache", 8 * GIB - 4 * MIB)


def test_bad_facts_store_nothing() -> None:
    host = make.host()
    data = make.inventory(make.facts(make.lv(), make.lv("data")))
    data = dict.fromkeys(data, "two")
    with pytest.raises(BadHostData):
        apply_facts(host, data, NOW)
    host.refresh_from_db()
    assert host.facts == {} and host.facts_at is None
    assert not Volume.objects.exists()


def test_a_volume_that_is_not_understood_is_not_missing() -> None:
    host, web, data = make.host(), make.lv(), make.lv("data")
    apply(host, make.facts(web, data))
    odd = make.inventory(make.facts(web, data))
    odd["lvs"][1]["size_bytes"] = "8"
    odd["disks"] = [{"name": f"sd{n}"} for n in range(60)]
    apply_facts(host, odd, LATER)
    assert [placed(host, lv.uuid).missing_since for lv in (web, data)] == [None, None]
    host.refresh_from_db()
    assert [each["name"] for each in host.facts["lvs"]] == [web.name]
    assert host.facts["unread"][-1]["part"] == "lvs", "however much else is odd"


LV_FIELDS = sorted(make.inventory(make.facts(make.lv()))["lvs"][0])
texts = st.text(st.characters(), max_size=600) | st.sampled_from(["\0", "\ud800", "é" * 127])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(LV_FIELDS), texts | st.integers()), max_size=3), texts)
def test_whatever_decodes_can_be_stored(changes: list[tuple[str, Any]], junk: str) -> None:
    data = copy.deepcopy(HOSTILE)
    for field, value in changes:
        data["lvs"][0][field] = [value] if field in ("layout", "role", "tags") else value
    data["disks"][0]["model"] = data["unknown"] = junk
    host = make.host()
    try:
        facts = apply_facts(host, data, NOW)
    except BadHostData:
        return
    assert Host.objects.get(pk=host.pk).inventory == facts


HOSTILE = make.inventory(make.facts(make.lv(), disks=(make.disk(),)))


def test_a_hello_is_stored_whatever_the_host_put_into_it() -> None:
    host = make.host(error={"code": "unreachable"})
    deep: Any = "x"
    for _ in range(500):
        deep = [deep]
    data = {
        "agent": "0.1.0",
        "os": "a\0\ud800",
        "deep": deep,
        "nan": float("nan"),
        "huge": 10**400,
        "k\0": 1.5,
        "policy": {"vgs": ["vg0"]},
    }
    problem = {"code": "x", "severity": "info", "message": "\0", "correction": ""}
    apply_hello(host, data, [problem], NOW)
    host = Host.objects.get(pk=host.pk)
    assert host.hello["os"] == "a�?" and host.hello["k�"] == 1.5
    assert host.hello["nan"] is None and host.hello["huge"] is None
    assert host.problems[0]["message"] == "�"
    assert host.allowed_vgs == ("vg0",)
    assert host.error == {} and host.hello_at == host.last_seen_at == NOW
    assert len(json.dumps(host.hello)) < 1000


@pytest.mark.django_db(transaction=True)
def test_two_inventories_at_once_make_one_volume_each_lv() -> None:
    host, facts = make.host(), make.facts(*(make.lv(f"web{n}") for n in range(20)))
    barrier, errors = threading.Barrier(4), []

    def work(number: int) -> None:
        try:
            barrier.wait(timeout=10)
            apply(host, facts, NOW + dt.timedelta(seconds=number))
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert errors == []
    assert Placement.objects.count() == Volume.objects.count() == 20
    assert Host.objects.get(pk=host.pk).facts_at == NOW + dt.timedelta(seconds=3)

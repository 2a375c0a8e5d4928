"""The panel decodes what a host sends: one odd value, however deep, costs the thing that has it, is
reported, and hides nothing else."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from storage.health.inventory_findings import findings_of
from storage.health.smart_findings import findings
from storage.health.smart_reading import decode_smart
from storage.host_data import BadHostData
from storage.inventory.facts import PARTS, decode
from storage.metrics.counters import decode_sample
from tests.reported.host import Seen, disk_answers
from tests.reported.test_odd_values import described
from tests.smart_disks import ata, attribute, nvme
from tests.storage import wire
from tests.storage.health.test_smart_findings import NOW
from tests.storage.metrics.test_counters import full as full_volume

ABSENT = object()
ODD: tuple[Any, ...] = (ABSENT, None, "", [], -1, 10**30, "dreaming", {"x": 1})
"""Absent, empty, negative, huge, of another type, and a word that no table has."""
NAMES = frozenset({"name", "vg_name", "subject", "uuid", "device", "vg_uuid"})


# --- An inventory ------------------------------------------------------------------------------


def full() -> dict[str, Any]:
    """What a full host sends, each part of which is ill, with all that may be inside a volume."""
    facts: dict[str, Any] = json.loads(json.dumps(Seen(**described(is_ill=True)).facts))
    lv = next(each for each in facts["lvs"] if each["name"] == "other")
    lv["work"] = {"kind": "pvmove", "source": "sdf", "percent": 3, "ours": False}
    lv["users"] = [{"kind": "libvirt", "name": "web12", "disk": "vda", "pid": 7, "format": "raw",
                    "domain": "d", "path": "/dev/apart/other"}]  # fmt: skip
    lv["snapshots"], lv["health"] = ["old"], "failed"
    lv["writecache"] = {"name": "w", "size_bytes": 9, "dirty_bytes": 1, "dirty_known": True,
                        "pvs": ["sdf"]}  # fmt: skip
    lv["bcache"] = {"uuid": "u", "device": "bcache1", "cset_uuid": "s", "state": "inconsistent",
                    "cache_mode": "writeback", "sequential_cutoff_bytes": 0, "dirty_bytes": 9,
                    "dirty_known": True, "writeback_percent": 10, "size_bytes": 9}  # fmt: skip
    facts["csets"] = [{"uuid": "s", "lv_uuid": None, "device": "sdj1", "size_bytes": 9,
                       "bucket_bytes": 9, "available_percent": 3, "unused_percent": None,
                       "backing_count": 1}]  # fmt: skip
    facts["orphans"] = [{"name": "tank-old", "device": "dm-9", "uuid": "o", "why": "no volume"}]
    return facts


Path = tuple[str | int, ...]


def leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every field at every depth, a part and a thing too."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield (*path, key)
        if isinstance(value[key], dict | list):
            yield from leaves(value[key], (*path, key))


def one_of_each(document: dict[str, Any]) -> dict[tuple[str, ...], Path]:
    """The last path of each shape: the numbers in lists left out."""
    return {tuple("" if isinstance(k, int) else k for k in path): path for path in leaves(document)}


def changed(document: dict[str, Any], path: Path, value: object) -> dict[str, Any]:
    """The document with another value there. Only what leads to it is copied."""
    top: dict[str, Any] = dict(document)
    inner: Any = top
    for key in path[:-1]:
        inner[key] = copy.copy(inner[key])
        inner = inner[key]
    if value is ABSENT:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return top


def test_one_odd_value_at_any_depth_hides_nothing_else_and_no_fault() -> None:
    document = full()
    whole = decode(document)
    assert whole.unread == ()
    reported = {(each.code, each.subject) for each in findings_of(whole, ())}
    assert len(reported) > 3
    paths = one_of_each(document)
    assert len(paths) > 180
    for path in paths.values():
        for value in ODD:
            where = (path, "absent" if value is ABSENT else value)
            try:
                facts = decode(changed(document, path, value))
                now = {(each.code, each.subject) for each in findings_of(facts, ())}
            except Exception as error:
                raise AssertionError(where) from error
            for part in PARTS:
                before, after = getattr(whole, part), getattr(facts, part)
                if part != path[0]:
                    assert after == before, (where, part)
                elif len(path) > 1:
                    assert sum(each not in after for each in before) <= 1, (where, part)
            # A list may have nothing in it, and a name may be any.
            is_free = value == [] or isinstance(path[-1], int) or path[-1] in NAMES
            # What was reported still is, unless it is of the thing that is odd, which then is.
            assert reported <= now or facts.unread or now - reported or is_free, where


@pytest.mark.parametrize("data", [None, [], "", 7, {}, {"lvs": None}, {"lvs": {}}])
def test_what_has_no_list_of_things_is_no_inventory(data: Any) -> None:
    with pytest.raises(BadHostData):
        decode(data)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kernel", None),
        ("kernel", {"release": 7}),
        ("lvm_version", None),
        ("boot_id", []),
        ("consistent", "yes"),
        ("stale", None),
        ("disks", None),
        ("arrays", {}),
        ("pvs", ABSENT),
        ("csets", ABSENT),
        ("consistent", ABSENT),
    ],
)
def test_a_field_of_the_host_itself_blinds_no_volume_and_is_reported(
    field: str, value: Any
) -> None:
    facts = decode(changed(full(), (field,), value))
    assert [lv.name for lv in facts.lvs] == [lv.name for lv in decode(full()).lvs]
    assert [each.code for each in findings_of(facts, ())].count("unread_facts") == 1
    assert field in {"consistent", "stale"} or facts.consistent
    assert facts.stale or not facts.consistent or field not in {"consistent", "stale"}


def test_what_an_older_agent_never_sent_is_not_reported() -> None:
    document = full()
    for field in ("orphans", "backings", "lvm_version", "kernel", "boot_id"):
        del document[field]
    document["lvs"][0]["name"] = 7
    assert {each.part for each in decode(document).unread} == {"lvs"}


# --- What disks say of themselves ----------------------------------------------------------------


def smart_reply() -> dict[str, Any]:
    disks = disk_answers(
        smartctl={"devices": [
            {"name": "/dev/sda", "document": ata("M", "S1", [attribute(5, "X", 1)], passed=False)},
            {"name": "/dev/nvme0", "type": "nvme", "document": nvme("M", "S2")},
        ]}
    )  # fmt: skip
    reply = {"installed": True, "version": "7.3", "message": "", "disks": disks}
    return json.loads(json.dumps(reply))  # type: ignore[no-any-return]


def test_one_odd_answer_is_one_disk_that_could_not_be_read() -> None:
    whole = smart_reply()
    number = next(n for n, each in enumerate(whole["disks"]) if each["device"] == "/dev/sda")
    for path in one_of_each(whole["disks"][number]).values():
        if path[0] in ("device", "type", "name"):
            continue
        for value in ODD:
            where = (path, value)
            reply = decode_smart(changed(whole, ("disks", number, *path), value))
            assert len(reply.disks) == 2, where
            other = next(each for each in reply.disks if each.device != "/dev/sda")
            assert other.health is not None and other.health.serial == "S2", where
            odd = next(each for each in reply.disks if each.device == "/dev/sda")
            codes = {each.code for each in findings(odd, {}, None, None, NOW)}
            assert codes or odd.health is None or path[-1] == "passed", where


# --- Samples -------------------------------------------------------------------------------------


def test_one_odd_counter_costs_the_figures_of_its_volume_alone() -> None:
    odd = {**full_volume(), "lv_uuid": "two"}
    whole = {**wire.sample(wire.volume(lv_uuid="one"), odd), "disks": [{"name": "sda"}]}
    assert decode_sample(whole).unread == ()
    for path in one_of_each(odd).values():
        for value in ODD:
            sample = decode_sample(changed(whole, ("volumes", 1, *path), value))
            assert "one" in {each.lv_uuid for each in sample.volumes}
            assert len(sample.volumes) == 2 or len(sample.unread) == 1


@pytest.mark.parametrize(
    ("part", "odd"),
    [
        ("disks", {"name": ""}),
        ("disks", {"name": "sdb", "disk": [1]}),
        ("disks", 7),
        ("arrays", {"name": "md0"}),
        ("arrays", {"name": "md0", "degraded_count": "x", "sync_action": "idle", "members": []}),
        ("partitions", {"name": None}),
    ],
)
def test_one_odd_device_costs_the_figures_of_itself_alone(part: str, odd: Any) -> None:
    whole = {**wire.sample(wire.volume(lv_uuid="one")), "disks": [{"name": "sda"}]}
    sample = decode_sample({**whole, part: [*whole.get(part, []), odd]})
    assert [each.lv_uuid for each in sample.volumes] == ["one"]
    assert [each.name for each in sample.devices.disks] == ["sda"]
    assert len(sample.unread) == 1


@pytest.mark.parametrize("data", [None, [], {}, {"volumes": None}, {"volumes": {}}])
def test_what_has_no_list_of_volumes_is_no_sample(data: Any) -> None:
    with pytest.raises(BadHostData):
        decode_sample(data)

"""A full host of which one thing that the kernel or LVM says is odd: nothing fails, the rest is
read as before, and nothing that is ill, or of which nothing is known, counts as healthy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from storage.agent.kernel import dm, lvm
from storage.agent.kernel.local_host import CommandResult
from storage.byte_sizes import GIB, SECTOR_BYTES
from tests.reported import host as reported
from tests.reported.host import ReportedHost, Seen, said
from tests.reported.test_lvm_states import GONE, cached, mirrored_pool, raid

ABSENT = None
ODD_TEXTS = ("", "-1", "9" * 30, "dreaming")
SET = "0f1e2d3c-0000-4000-8000-00000000beef"
MD = "/sys/devices/virtual/block/md0/md"
WORDS = "cache 8 1/64 128 9/16384 1 1 1 1 0 9 4 1 writeback 2 migration_threshold 2048 smq 0 rw -"
CACHE_LINE = f"tank-web: 0 {8 * GIB // SECTOR_BYTES} {WORDS}"


def described(*, is_ill: bool) -> dict[str, Any]:
    """Arrays, a cached volume whose cache LVM mirrors, LVM's RAID, a bcache with its set, and a
    group apart. Where it `is_ill`, each of them has lost a disk."""
    legs = ["/dev/sdc", GONE if is_ill else "/dev/sdd"]
    full = cached(*mirrored_pool(*legs), *raid("safe", legs, role="public"))
    full["lvm"]["vgs"].append({"name": "apart"})
    full["lvm"]["pvs"].append({"name": "/dev/sdf", "vg": "apart"})
    full["lvm"]["lvs"].append({"vg": "apart", "name": "other", "devices": ["/dev/sdf(0)"]})
    full["disks"] += [
        {"name": name, "dev": f"8:{at * 16}", "partitions": [f"{name}1"]}
        for at, name in enumerate(("sdf", "sdg", "sdh", "sdi", "sdj"), 5)
    ]
    in_sync = {name: ["in_sync", str(at)] for at, name in enumerate(("sdg1", "sdh1"))}
    lost = {"members": {"sdg1": in_sync["sdg1"]}, "degraded": "1"}
    full["arrays"] = [{"name": "md0", "members": in_sync, **(lost if is_ill else {})}]
    full["bcache"] = {
        "backings": [
            {"on": "sdi1", "cache_mode": "writethrough [writeback] writearound none",
             "state": "dirty", "dirty_data": "4.0k", "writeback_percent": "10",
             "device": "bcache0", **({} if is_ill else {"set": SET})},
        ],
        "sets": [] if is_ill else [
            {"uuid": SET, "on": "sdj1", "bucket_size": "512.0k", "backings": ["sdi1"]},
        ],
    }  # fmt: skip
    full["dm"]["cache"] = CACHE_LINE
    return full


def seen(
    is_ill: bool,
    monkeypatch: pytest.MonkeyPatch,
    *,
    row: Callable[[dict[str, Any]], None] | None = None,
    file: tuple[str, str | None] | None = None,
    line: str | None = None,
) -> Seen:
    """The host, with one row of LVM's report, one file of the kernel or one line of its status
    changed."""

    class Odd(ReportedHost):
        def __init__(self, **more: Any) -> None:
            super().__init__(**more)
            if file is not None:
                path, text = file
                del self.tree.files[path]
                if text is not None:
                    self.tree.file(path, text)

        def _fullreport(self) -> CommandResult:
            document = json.loads(super()._fullreport().stdout)
            if row is not None:
                row(document)
            return said(json.dumps(document))

    more = described(is_ill=is_ill)
    if line is not None:
        more["dm"]["cache"] = line
    monkeypatch.setattr(reported, "ReportedHost", Odd)
    return Seen(**more)


def changed(kind: str, number: int, field: str, value: str | None) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        rows = [row for part in document["report"] for row in part.get(kind, ())]
        if value is ABSENT:
            del rows[number][field]
        else:
            rows[number][field] = value

    return change


def rows(kind: str, is_ill: bool) -> Iterator[int]:
    """One row of each sort."""
    machine = ReportedHost(**described(is_ill=is_ill))
    document = json.loads(machine.run(lvm.argv(locking=True)).stdout)
    known: set[tuple[str, ...]] = set()
    for number, row in enumerate(row for part in document["report"] for row in part.get(kind, ())):
        sort = tuple(row.get(name, "") for name in ("segtype", "lv_role", "pv_missing", "vg_name"))
        if sort not in known:
            known.add(sort)
            yield number


FIELDS = [
    (kind, at, field)
    for kind, fields in (("pv", lvm.PVS), ("seg", lvm.LVS))
    for at, field in enumerate(fields.split(","))
]


def places(is_ill: bool, *, every: bool) -> Iterator[tuple[str, int, str]]:
    """Each field in one row, or in `every` one."""
    numbers = {kind: tuple(rows(kind, is_ill)) for kind in ("pv", "seg")}
    for kind, at, field in FIELDS:
        known = numbers[kind]
        for number in known if every else (known[at % len(known)],):
            yield kind, number, field


@pytest.mark.parametrize(
    ("is_ill", "every"),
    [
        pytest.param(True, False, id="ill"),
        pytest.param(True, True, id="ill, every row", marks=pytest.mark.long),
        pytest.param(False, True, id="well, every row", marks=pytest.mark.long),
    ],
)
def test_one_odd_value_of_lvm_fails_nothing_and_takes_nothing_from_another_group(
    is_ill: bool, every: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind, number, field in places(is_ill, every=every):
        for value in (ABSENT, *ODD_TEXTS):
            where = (kind, number, field, value)
            try:
                found = seen(is_ill, monkeypatch, row=changed(kind, number, field, value))
            except Exception as error:
                raise AssertionError(where) from error
            names = {(lv.vg_name, lv.name) for lv in found.host.lvs}
            assert ("apart", "other") in names or ("tank", "web") in names, where
            assert found.codes or not is_ill, where


def files() -> list[str]:
    machine = ReportedHost(**described(is_ill=False))
    own = ("md0/", "bcache", "sda/", "sdi/", "sdg", "/dm-0/", "/dm-1/", "/proc/")
    return sorted(path for path in machine.tree.files if any(each in path for each in own))


@pytest.mark.parametrize(
    "is_ill", [True, pytest.param(False, marks=pytest.mark.long)], ids=["ill", "well"]
)
def test_one_odd_file_of_the_kernel_fails_nothing_and_hides_no_fault(
    is_ill: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = set(ReportedHost(**described(is_ill=is_ill)).tree.files)
    for path in (each for each in files() if each in known):
        for value in (ABSENT, *ODD_TEXTS):
            if (path, value) == (f"{MD}/level", ABSENT):
                # What has none is no array.
                continue
            try:
                found = seen(is_ill, monkeypatch, file=(path, value))
            except Exception as error:
                raise AssertionError((path, value)) from error
            where = (path, value, found.codes)
            assert ("apart", "other") in {(lv.vg_name, lv.name) for lv in found.host.lvs}, where
            if is_ill:
                assert is_reported(found, "md0"), where
                assert is_reported(found, "web") and is_reported(found, "safe"), where
                assert is_reported(found, "sdi1") or is_reported(found, "bcache0"), where


def is_reported(found: Seen, name: str) -> bool:
    return any(name in line for line in found.text.split("\n"))


@pytest.mark.parametrize("word", ["dreaming", ""])
@pytest.mark.parametrize(
    "path",
    [
        f"{MD}/array_state",
        f"{MD}/degraded",
        f"{MD}/level",
        "/sys/devices/virtual/block/sdi/sdi1/bcache/state",
    ],
)
def test_what_the_kernel_calls_by_an_unknown_word_is_not_well(
    path: str, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = seen(False, monkeypatch).codes
    assert set(seen(False, monkeypatch, file=(path, word)).codes) > set(usual)


STATUS = CACHE_LINE.split()


@pytest.mark.parametrize("number", range(2, len(STATUS)))
def test_one_odd_word_of_a_caches_status_fails_nothing(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in ("", "-1", "9" * 30, "dreaming"):
        line = " ".join([*STATUS[:number], value, *STATUS[number + 1 :]])
        cache = seen(False, monkeypatch, line=line).lv("web").cache
        assert cache.dirty_known or cache.dirty_bytes == 0, line
        assert cache.used_bytes <= cache.size_bytes, line


@pytest.mark.parametrize("word", ["dreaming", "ro"])
def test_a_cache_whose_metadata_is_not_known_to_be_writable_counts_as_read_only(word: str) -> None:
    assert not dm.parse_cache(WORDS.removeprefix("cache ")).read_only
    assert dm.parse_cache(WORDS.removeprefix("cache ").replace(" rw ", f" {word} ")).read_only


def test_a_cache_that_says_an_unknown_word_of_its_check_needs_one() -> None:
    assert dm.parse_cache(WORDS.removeprefix("cache ").replace("rw -", "rw dreaming")).needs_check

"""What a volume left behind: which extents are noted, which of them are free, and what is said of
those that are not cleared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from storage.agent.commands import vacated_extents
from storage.agent.facts.inventory import storage
from storage.agent.kernel import lvm
from storage.agent.kernel.local_host import CommandResult
from storage.agent.state import udev_links
from storage.agent.state.policy import Policy
from tests.contract.client import MIB, VOLUME_BYTES, Agent
from tests.fake import FakeHost

EXTENT_BYTES = 4 * MIB
ONE, TWO = "PVone0-AAAA-AAAA-AAAA-AAAA-AAAA-AAAAAA", "PVtwo0-AAAA-AAAA-AAAA-AAAA-AAAA-AAAAAA"
PLACES = {ONE: "/dev/sdc", TWO: "/dev/sdd"}


def disk(uuid: str, extents: int = 100, **changes: str) -> lvm.Row:
    size = {"pv_uuid": uuid, "pv_name": PLACES[uuid], "pv_size": str(extents * EXTENT_BYTES)}
    return {**size, "pv_allocatable": "1", "pv_missing": "0", **changes}


def part(name: str, uuid: str, first: int, count: int, tags: str = "") -> lvm.Row:
    return {
        "lv_name": name,
        "lv_tags": tags,
        "segtype": "linear",
        "seg_size": str(count * EXTENT_BYTES),
        "devices": f"{PLACES[uuid]}({first})",
    }


def report(*segments: lvm.Row, pvs: Sequence[lvm.Row] = (disk(ONE), disk(TWO))) -> lvm.Report:
    vgs = ({"vg_extent_size": str(EXTENT_BYTES)},)
    return lvm.Report(vgs, tuple(pvs), segments, segments, stale=False, consistent=True)


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([(ONE, 0, 3), (ONE, 4, 9)], [(ONE, 0, 9)]),
        ([(ONE, 0, 9), (ONE, 2, 3), (ONE, 5, 12)], [(ONE, 0, 12)]),
        ([(ONE, 5, 9), (ONE, 0, 3)], [(ONE, 0, 3), (ONE, 5, 9)]),
        ([(ONE, 0, 3), (TWO, 4, 9)], [(ONE, 0, 3), (TWO, 4, 9)]),
        ([], []),
    ],
)
def test_ranges_that_touch_or_overlap_are_one(
    places: list[vacated_extents.Range], expected: list[vacated_extents.Range]
) -> None:
    assert vacated_extents.joined(places) == tuple(expected)


def test_of_too_many_ranges_those_with_the_smallest_gaps_are_joined_on_each_disk() -> None:
    pieces = [(ONE, 0, 1), (ONE, 10, 11), (ONE, 14, 15), (ONE, 30, 31), (TWO, 0, 1), (TWO, 50, 51)]
    assert vacated_extents.joined(pieces, most=2) == (
        (ONE, 0, 15),
        (ONE, 30, 31),
        (TWO, 0, 1),
        (TWO, 50, 51),
    )


def test_no_volume_in_many_pieces_writes_more_tags_than_there_is_room_for() -> None:
    pieces = [(ONE, 10 * n, 10 * n + 3) for n in range(500)]
    noted = vacated_extents.joined(pieces)
    assert len(noted) == vacated_extents.MOST_RANGES
    assert (
        sum(len(vacated_extents.extent_tag(each)) + 8 for each in noted)
        <= vacated_extents.TEXT_BYTES
    )
    for _, first, last in pieces:
        assert any(low <= first and last <= high for _, low, high in noted)


@pytest.mark.parametrize(
    "mark",
    [
        f"tiercel.left={ONE}/9-0",
        f"tiercel.left={ONE}/-1-9",
        f"tiercel.left={ONE}/0-99999999999",
        f"tiercel.left={ONE}/0",
        "tiercel.left=/dev/sdc/0-9",
        f"other.left={ONE}/0-9",
        f"tiercel.left={ONE}/0-9:20-29",
    ],
)
def test_a_tag_that_is_no_range_is_not_looked_at(mark: str) -> None:
    assert vacated_extents.ranges([mark]) == ()


def test_only_what_no_volume_has_is_free() -> None:
    seen = report(part("web", ONE, 10, 5), part("mail", ONE, 20, 100), part("db", TWO, 0, 100))
    wanted = ((ONE, 5, 30), (TWO, 0, 9))
    assert vacated_extents.free_of(seen, wanted) == ((ONE, 5, 9), (ONE, 15, 19))


def test_ranges_that_overlap_are_free_once() -> None:
    assert vacated_extents.free_of(report(), ((ONE, 0, 9), (ONE, 5, 14))) == ((ONE, 0, 14),)


def test_gaps_between_what_is_noted_are_not_zeroed_however_many_ranges_there_are() -> None:
    wanted = tuple((ONE, 2 * n, 2 * n) for n in range(vacated_extents.MOST_RANGES + 8))
    assert vacated_extents.free_of(report(), wanted) == wanted


@pytest.mark.parametrize(
    "pvs",
    [
        (disk(TWO),),
        (disk(ONE, pv_allocatable="0"),),
        (disk(ONE, pv_missing="1"),),
        (disk(ONE, 10),),
    ],
    ids=["split off", "barred", "missing", "shrunk"],
)
def test_nothing_is_free_on_a_disk_that_lvm_gives_nothing_of(pvs: tuple[lvm.Row, ...]) -> None:
    assert vacated_extents.free_of(report(pvs=pvs), ((ONE, 10, 19),)) == ()


def test_a_disk_that_shrank_is_cleared_as_far_as_it_goes() -> None:
    assert vacated_extents.free_of(report(pvs=(disk(ONE, 15),)), ((ONE, 10, 19),)) == (
        (ONE, 10, 14),
    )


def tags(agent: Agent, volume: str) -> list[str]:
    return [each for each in agent.lv(volume)["tags"] if each.startswith(vacated_extents.PREFIX)]


def mark(host: FakeHost, volume: str, *extents: tuple[int, int], pv: str = "sdc") -> None:
    """The volume is noted to have left these."""
    with host.changing() as machine:
        on = next(each for each in machine.vgs[0].pvs if each.device.name == pv)
        marks = [vacated_extents.extent_tag((on.uuid, first, last)) for first, last in extents]
        host.root.lv(volume).tags += marks


def moved(host: FakeHost, agent: Agent) -> str:
    volume = agent.volume()
    agent.do("volume.move", {"lv": volume, "from_pvs": ["sdc"], "to_pvs": ["md0"]})
    return volume


def clear(agent: Agent, volume: str) -> tuple[list[list[str]], str]:
    """The commands that ran, and what the operation said."""
    outcome = agent.do("volume.clear", {"lv": volume, "volume_key": volume[2:]})
    return [each["argv"] for each in outcome["commands"]], "\n".join(
        each["text"] for each in outcome["lines"]
    )


def test_what_is_used_again_is_named_by_its_place(host: FakeHost, agent: Agent) -> None:
    volume = moved(host, agent)
    host.root.add_lv("next", VOLUME_BYTES // 2, "sdc")
    taken = VOLUME_BYTES // 2 // EXTENT_BYTES
    _, said = clear(agent, volume)
    place = f"/dev/sdc:0-{taken - 1}"
    assert f"Not cleared: used again, or on a disk that LVM does not allocate from: {place}" in (
        said.splitlines()
    )


def test_nothing_is_said_where_all_of_it_was_cleared(host: FakeHost, agent: Agent) -> None:
    _, said = clear(agent, moved(host, agent))
    assert "Not cleared" not in said


def test_what_the_volume_has_itself_it_did_not_leave(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    mark(host, volume, (0, VOLUME_BYTES // EXTENT_BYTES - 1))
    ran, said = clear(agent, volume)
    assert [argv[0] for argv in ran] == ["lvchange"] and "Not cleared" not in said
    assert tags(agent, volume) == []


def test_free_ranges_of_one_disk_are_reserved_as_one_word(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    mark(host, volume, (100, 103), (110, 119))
    mark(host, volume, (50, 59), pv="sdd")
    _, said = clear(agent, volume)
    assert "vg0 /dev/sdc:100-103:110-119 /dev/sdd:50-59" in said or (
        "vg0 /dev/sdd:50-59 /dev/sdc:100-103:110-119" in said
    )
    assert "-l 24 " in said and tags(agent, volume) == []


def test_a_disk_that_takes_no_zeros_keeps_what_is_to_be_cleared_until_root_gives_it_up(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = moved(host, agent)
    run = host.run

    def failing(argv: Sequence[str], **options: Any) -> CommandResult:
        if argv[0] == "blkdiscard":
            return CommandResult(1, "", "blkdiscard: BLKZEROOUT ioctl failed: Input/output error\n")
        return run(argv, **options)

    monkeypatch.setattr(host, "run", failing)
    asked = {"lv": volume, "volume_key": volume[2:]}
    for _ in range(2):
        outcome = agent.outcome(agent.start("volume.clear", asked))
        assert (outcome["state"], outcome["error"]["code"]) == ("failed", "cmd_failed")
        assert tags(agent, volume) and f"w-{volume[2:]}" in agent.names()
    # As docs/operators.md says.
    run(("lvremove", "-y", f"vg0/w-{volume[2:]}"), timeout=None)
    for each in tags(agent, volume):
        run(("lvchange", "--deltag", each, f"vg0/{volume}"), timeout=None)
    assert clear(agent, volume) == ([], "")


@pytest.mark.parametrize("is_reserved", [False, True])
def test_nothing_is_zeroed_while_lvm_does_not_know_all_of_the_groups_devices(
    host: FakeHost, agent: Agent, is_reserved: bool
) -> None:
    """Also where an earlier try holds what is to be cleared: LVM's text about it may be old."""
    volume = moved(host, agent)
    host.root.add_lv("next", VOLUME_BYTES, "sdc")
    host.root.lose_metadata("next")
    if is_reserved:
        ours = ["tiercel", f"tiercel.volume={volume[2:]}", "tiercel.made=left", "tiercel.zeroing"]
        host.root.add_lv(f"w-{volume[2:]}", VOLUME_BYTES, "sdd", tags=ours)
    with agent.unchanged():
        asked = {"lv": volume, "volume_key": volume[2:]}
        assert agent.refused("volume.clear", asked) == "in_use"
    assert tags(agent, volume), "it is still to be cleared"


def test_where_lvms_text_is_full_a_cache_comes_off_and_nothing_is_noted(
    host: FakeHost, agent: Agent
) -> None:
    volume, pool = agent.cached()
    with host.changing() as machine:
        machine.vgs[0].text_bytes = 522240 - 1500
    args = {"lv": volume, "pool": pool, "dirty_limit_bytes": 64 * MIB}
    outcome = agent.do("cache.detach", args)
    assert [each["argv"][0] for each in outcome["commands"]] == ["lvconvert"]
    assert tags(agent, volume) == []


def test_a_volume_keeps_its_path_while_what_it_left_is_cleared(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.volume()
    key = volume[2:]
    rules = udev_links.rules(storage(host, Policy(("vg0",))), ())
    assert f'SYMLINK+="tiercel/{key}"' in rules
    made = ("tiercel", f"tiercel.volume={key}", "tiercel.made=left", "tiercel.zeroing")
    host.root.add_lv(f"w-{key}", VOLUME_BYTES, "sdc", tags=made)
    assert udev_links.rules(storage(host, Policy(("vg0",))), ()) == rules

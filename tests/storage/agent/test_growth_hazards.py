"""What could leak or lose data while a volume grows or moves."""

from __future__ import annotations

from typing import Any

import pytest

from storage.agent import extents, mirror
from storage.agent.errors import Refusal
from tests.contract.client import MIB, VOLUME_BYTES, Agent
from tests.fake import FakeHost, growth
from tests.storage.agent.test_hazards import around

MORE = 32 * MIB


def extension(volume: str, **changes: Any) -> dict[str, Any]:
    size = {"from_bytes": VOLUME_BYTES, "size_bytes": VOLUME_BYTES + MORE}
    return {"lv": volume, "pvs": ["sdc"], "volume_key": volume[2:], **size, **changes}


def moved(volume: str) -> dict[str, Any]:
    return {"lv": volume, "from_pvs": ["sdc"], "to_pvs": ["md0"]}


def ended(agent: Agent, verb: str, args: dict[str, Any]) -> Any:
    return agent.outcome(agent.start(verb, args))


def test_room_that_somebody_took_in_between_is_not_grown_into(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = agent.volume()

    def take(tick: object) -> None:
        if host.root.lv(volume).vg.lv(f"x-{volume[2:]}") is None:
            host.root.add_lv("thief", MORE)

    around(host, monkeypatch, "lvremove", after=take)
    outcome = ended(agent, "volume.extend", extension(volume))
    assert outcome["state"] == "failed"
    assert agent.lv(volume)["size_bytes"] == VOLUME_BYTES
    monkeypatch.undo()
    agent.do("volume.extend", extension(volume))
    assert host.root.reads_as_zeros(host.root.lv(volume))


def test_a_volume_that_lies_in_pieces_is_taken_piece_by_piece(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    for n in range(4):
        host.root.add_lv(f"gap{n}", 4 * MIB)
    for n in (0, 2):
        host.root.remove_lv(f"gap{n}")
    agent.do("volume.extend", extension(volume))
    assert host.root.reads_as_zeros(host.root.lv(volume))
    last = next(argv for argv in reversed(host.executed) if argv[0] == "lvextend")
    assert last[-1].count(":") == 3 and "<" not in " ".join(last)


def test_room_that_a_process_holds_is_neither_zeroed_nor_removed(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.volume()
    tags = ["tiercel", f"tiercel.volume={volume[2:]}", "tiercel.made=room", "tiercel.zeroing"]
    host.root.add_lv(f"x-{volume[2:]}", MORE, tags=tags)
    host.root.guest("odd", f"/dev/vg0/x-{volume[2:]}")
    with agent.unchanged():
        assert agent.refused("volume.extend", extension(volume)) == "in_use"
        tidy = extension(volume, from_bytes=VOLUME_BYTES, size_bytes=VOLUME_BYTES)
        assert agent.refused("volume.extend", tidy) == "in_use"


def test_a_failed_zeroing_leaves_the_volume_as_it_was(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    host.fail_next("blkdiscard", 1, "blkdiscard: I/O error\n")
    assert ended(agent, "volume.extend", extension(volume))["state"] == "failed"
    lv = agent.lv(volume)
    assert lv["size_bytes"] == VOLUME_BYTES and "tiercel.grown" not in lv["tags"]


def test_extents_are_given_only_where_they_are_known(host: FakeHost, agent: Agent) -> None:
    with pytest.raises(Refusal, match="nobody"):
        extents.of(host, "vg0", "nobody")
    cached, _ = agent.cached()
    with pytest.raises(Refusal, match="physical volumes alone"):
        extents.of(host, "vg0", cached)
    with pytest.raises(Refusal, match="Nobody knows"):
        extents.filled(["lvextend", "<extents of vg0/x>"], {})


def test_a_broken_move_is_taken_up_or_called_off(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    host.root.scribble(host.root.lv(volume))
    kname = str(host.root.lv(volume).kname)
    host.machine.move_bytes_per_second = MIB
    for verb, args, disk in (
        ("move.abort", {"lv": volume, "pv": "sdc"}, "sdc"),
        ("volume.move", moved(volume), "md0"),
    ):
        steps = _begin(host, volume)
        found = agent.lv(volume)
        assert found["segments"][0]["pvs"] == ["sdc", "md0"]
        done = mirror.synced(host, kname)
        assert done is not None and done[1] == VOLUME_BYTES and done[0] < done[1]
        with agent.unchanged():
            assert agent.refused("volume.extend", extension(volume)) == "occupied"
            assert agent.refused("move.abort", {"lv": volume, "pv": "sdd"}) == "stale"
        agent.do(verb, args)
        assert [each["pvs"] for each in agent.lv(volume)["segments"]] == [[disk]]
        assert mirror.synced(host, kname) is None
        assert not host.root.reads_as_zeros(host.root.lv(volume))
        steps.close()


def test_two_moves_from_one_disk_go_one_after_the_other(host: FakeHost, agent: Agent) -> None:
    first, second = agent.volume(), agent.volume()
    steps = _begin(host, first)
    assert agent.refused("volume.move", moved(second)) == "occupied"
    steps.close()


def _begin(host: FakeHost, volume: str) -> Any:
    """A pvmove of ours that was left at work, as by a crash."""
    with host.changing():
        host.root.lv(volume).tags.append("tiercel.moving")
    words = ["pvmove", "-i", "2", "--atomic", "-n", f"vg0/{volume}", "/dev/sdc", "/dev/md0"]
    steps = growth.pvmove(host.machine, words)
    next(steps)
    return steps


def test_libvirt_is_told_only_about_a_disk_that_is_this_volume(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.volume()
    agent.do("volume.extend", extension(volume))
    disk = f"<disk><source dev='/dev/vg0/{volume}'/><target dev='vda'/></disk>"
    domain = f"<domain><name>web12</name><devices>{disk}</devices></domain>"
    host.save("/etc/libvirt/qemu/web12.xml", domain.encode())
    size = {"lv": volume, "size_bytes": VOLUME_BYTES + MORE, "hypervisor": "libvirt"}
    with agent.unchanged():
        for guest, name in (("web12", "vdb"), ("web13", "vda")):
            other = {**size, "guest": guest, "disk": name}
            assert agent.refused("guest.resize", other) == "stale"
    agent.do("guest.resize", {**size, "guest": "web12", "disk": "vda"})
    assert host.machine.domains == {("web12", "vda"): VOLUME_BYTES + MORE}

"""What could leak or lose data while a volume grows or moves."""

from __future__ import annotations

from typing import Any

import pytest

from storage.agent.calls.refusals import Refusal
from storage.agent.commands import extents
from storage.agent.kernel import mirror
from storage.agent.verbs.extend import is_grown
from tests.contract.client import MIB, VOLUME_BYTES, Agent
from tests.fake import FakeHost, growth
from tests.storage.agent.operations.test_hazards import around

MORE = 32 * MIB


def extension(volume: str, **changes: Any) -> dict[str, Any]:
    size = {"from_bytes": VOLUME_BYTES, "size_bytes": VOLUME_BYTES + MORE}
    return {"lv": volume, "pvs": ["sdc"], "volume_key": volume[2:], **size, **changes}


def moved(volume: str) -> dict[str, Any]:
    return {"lv": volume, "from_pvs": ["sdc"], "to_pvs": ["md0"]}


def ended(agent: Agent, verb: str, args: dict[str, Any]) -> Any:
    return agent.outcome(agent.start(verb, args))


def test_room_that_was_taken_in_between_is_not_grown_into(
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
    assert lv["size_bytes"] == VOLUME_BYTES and not is_grown(lv["tags"])


def test_extents_are_given_only_where_they_are_known(host: FakeHost, agent: Agent) -> None:
    with pytest.raises(Refusal, match="absent"):
        extents.of(host, host.machine.vgs[0].uuid, "vg0", "absent")
    cached, _ = agent.cached()
    with pytest.raises(Refusal, match="physical volumes alone"):
        extents.of(host, host.machine.vgs[0].uuid, "vg0", cached)
    with pytest.raises(Refusal, match="are unknown"):
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


def grown_volume(agent: Agent) -> tuple[str, dict[str, Any]]:
    """A volume whose guests know only its size before, and what guest.resize needs to know."""
    volume = agent.volume()
    agent.do("volume.extend", extension(volume))
    size = {"size_bytes": VOLUME_BYTES + MORE, "from_bytes": VOLUME_BYTES}
    return volume, {"lv": volume, **size}


def domain(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


def test_libvirt_is_informed_by_uuid_and_path_and_only_of_this_volume(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.volume()
    path = f"/dev/vg0/{volume}"
    guest = host.root.domain("12", path, domain(1))
    agent.do("volume.extend", extension(volume))
    size = {"lv": volume, "size_bytes": VOLUME_BYTES + MORE, "from_bytes": VOLUME_BYTES}
    with agent.unchanged():
        for uuid, where in ((domain(2), path), (domain(1), "/dev/vg0/other")):
            other = {**size, "domains": [{"uuid": uuid, "path": where}]}
            assert agent.refused("guest.resize", other) == "stale"
        assert agent.refused("guest.resize", {**size, "domains": [{"uuid": "12", "path": path}]})
    agent.do("guest.resize", {**size, "domains": [{"uuid": domain(1), "path": path}]})
    assert guest.sizes == {path: VOLUME_BYTES + MORE}
    words = next(argv for argv in reversed(host.executed) if argv[0] == "virsh")
    assert words[4:7] == ("blockresize", domain(1), path)


def test_every_domain_of_a_shared_volume_is_informed_before_the_tag_comes_off(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.volume()
    path = f"/dev/vg0/{volume}"
    guests = [host.root.domain(f"node{n}", path, domain(n)) for n in (1, 2)]
    agent.do("volume.extend", extension(volume))
    size = {"lv": volume, "size_bytes": VOLUME_BYTES + MORE, "from_bytes": VOLUME_BYTES}
    args = {**size, "domains": [{"uuid": domain(n), "path": path} for n in (1, 2)]}
    with host.changing():
        guests[1].job = "backup"
    outcome = ended(agent, "guest.resize", args)
    assert outcome["error"]["code"] == "guest_busy" and "backup" in outcome["error"]["message"]
    assert is_grown(agent.lv(volume)["tags"])
    with host.changing():
        guests[1].job = ""
    agent.do("guest.resize", args)
    assert [list(each.sizes.values()) for each in guests] == [[VOLUME_BYTES + MORE]] * 2
    assert not is_grown(agent.lv(volume)["tags"])


@pytest.mark.parametrize("image", ["qcow2", "luks"])
def test_an_image_with_a_size_of_its_own_is_left_alone(
    host: FakeHost, agent: Agent, image: str
) -> None:
    volume = agent.volume()
    guest = host.root.guest("web12", f"/dev/vg0/{volume}", image=image)
    agent.do("volume.extend", extension(volume))
    size = {"lv": volume, "size_bytes": VOLUME_BYTES + MORE, "from_bytes": VOLUME_BYTES}
    said = agent.do("guest.resize", {**size, "guests": ["web12"]})["lines"]
    assert any(image in line["text"] for line in said)
    assert list(guest.sizes.values()) == [VOLUME_BYTES]
    assert not is_grown(agent.lv(volume)["tags"])
    domain_of = host.root.domain("db1", f"/dev/vg0/{agent.volume()}", domain(1), image=image)
    path = next(iter(domain_of.sizes))
    agent.do("volume.extend", extension(path[len("/dev/vg0/") :]))
    other = {**size, "lv": path[len("/dev/vg0/") :]}
    wrong = {**other, "domains": [{"uuid": domain(1), "path": path}]}
    assert agent.refused("guest.resize", wrong) == "stale"


def test_a_disk_of_another_size_than_the_volume_had_is_left_alone(
    host: FakeHost, agent: Agent
) -> None:
    """QEMU may show a guest a part of a raw device."""
    volume = agent.volume()
    path = f"/dev/vg0/{volume}"
    guests = [host.root.guest("web12", path), host.root.domain("db1", path, domain(1))]
    agent.do("volume.extend", extension(volume))
    with host.changing():
        for guest in guests:
            guest.sizes[path] = VOLUME_BYTES // 2
    size = {"lv": volume, "size_bytes": VOLUME_BYTES + MORE, "from_bytes": VOLUME_BYTES}
    all_of_them = {"guests": ["web12"], "domains": [{"uuid": domain(1), "path": path}]}
    said = agent.do("guest.resize", {**size, **all_of_them})["lines"]
    assert sum("not what the volume had" in line["text"] for line in said) == 2
    assert [guest.sizes[path] for guest in guests] == [VOLUME_BYTES // 2] * 2


def test_a_guest_that_missed_two_extensions_is_known_by_its_first_size(
    host: FakeHost, agent: Agent
) -> None:
    volume, size = grown_volume(agent)
    again = {"from_bytes": VOLUME_BYTES + MORE, "size_bytes": VOLUME_BYTES + 2 * MORE}
    agent.do("volume.extend", extension(volume, **again))
    grown = [tag for tag in agent.lv(volume)["tags"] if tag.startswith("tiercel.grown")]
    assert grown == [f"tiercel.grown={VOLUME_BYTES}"]
    agent.do("guest.resize", {**size, "size_bytes": again["size_bytes"]})
    assert not is_grown(agent.lv(volume)["tags"])


def test_a_libvirt_that_hangs_does_not_hold_the_group(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    path = f"/dev/vg0/{volume}"
    host.root.domain("web12", path, domain(1))
    agent.do("volume.extend", extension(volume))
    size = {"lv": volume, "size_bytes": VOLUME_BYTES + MORE, "from_bytes": VOLUME_BYTES}
    args = {**size, "domains": [{"uuid": domain(1), "path": path}]}
    hanging = host.pause_next("virsh")
    op = agent.start("guest.resize", args)
    assert hanging.reached.wait(10)
    # Others have the group meanwhile, and this one can be stopped.
    agent.volume()
    assert agent.ask("op.abort", {"op": op})["ok"]
    hanging.resume()
    assert agent.outcome(op)["state"] in ("failed", "interrupted")
    host.hang_next("virsh")
    error = ended(agent, "guest.resize", args)["error"]
    assert error["code"] == "guest_busy" and "40 s" in error["message"]
    agent.do("guest.resize", args)


def test_guests_are_informed_only_with_the_size_that_they_know(agent: Agent) -> None:
    volume, size = grown_volume(agent)
    del size["from_bytes"]
    host_tag = f"tiercel.grown={VOLUME_BYTES}"
    assert host_tag in agent.lv(volume)["tags"]
    assert agent.do("guest.resize", size)["commands"] == []
    assert host_tag in agent.lv(volume)["tags"]

"""The boot unit on the fake host: what is registered, what is left alone, what is said."""

from __future__ import annotations

import json

import pytest

from storage.agent.calls.refusals import Refusal
from storage.agent.guests import hiding
from storage.agent.operations.boot import STARTING_SECONDS, boot
from storage.agent.state import boot_state, udev_links
from storage.agent.state.boot_state import REPORT, last
from tests.contract.client import Agent
from tests.fake import FakeHost, udev
from tests.fake.parts import Signature


def cached(agent: Agent) -> tuple[str, str]:
    volume = agent.backing()
    name, uuid = agent.cset(volume)
    wished = {"cache_mode": "writethrough", "sequential_cutoff_bytes": 0}
    agent.do("bcache.attach", {"lv": volume, "cset_uuid": uuid, **wished})
    return volume, name


def test_a_cache_is_started_after_a_restart_where_nothing_else_registers_it(
    host: FakeHost, agent: Agent
) -> None:
    volume, _ = cached(agent)
    before = agent.lv(volume)["bcache"]
    host.root.reboot(registers=False)
    assert agent.lv(volume)["bcache"] is None
    done, failed = boot(host)
    assert failed == []
    assert [line for line in done if "register" in line]
    assert agent.lv(volume)["bcache"] == before
    again, failed = boot(host)
    assert (again, failed) == ([], [])


def test_the_cache_sets_thresholds_are_back_too(host: FakeHost, agent: Agent) -> None:
    cached(agent)
    with host.changing() as machine:
        # Of a host that the distribution's rule registers everything on.
        machine.files.pop(hiding.PATH)
    host.root.reboot()
    (cset,) = host.machine.csets
    assert cset.congested_us["congested_read_threshold_us"] == 2000
    boot(host)
    assert set(host.machine.csets[0].congested_us.values()) == {0}


def test_a_superblock_that_a_tenant_made_is_not_registered(host: FakeHost, agent: Agent) -> None:
    ours, _ = cached(agent)
    plain = agent.volume()
    host.root.reboot(registers=False)
    with host.changing():
        host.root.lv(plain).signature = host.root.lv(ours).signature
    boot(host)
    assert agent.lv(plain)["bcache"] is None
    assert agent.lv(ours)["bcache"] is not None


def test_another_superblock_than_ours_is_not_registered_and_said(
    host: FakeHost, agent: Agent
) -> None:
    ours, cache_device = cached(agent)
    host.root.reboot(registers=False)
    with host.changing():
        host.root.lv(ours).signature = Signature("bcache", host.machine.uuid4())
    _, failed = boot(host)
    assert any("does not carry the bcache superblock" in line for line in failed)
    assert agent.lv(ours)["bcache"] is None
    named = {each["code"]: each["subject"] for each in agent.data("hello")["problems"]}
    assert named["boot_incomplete"] == f"vg0/{ours}"
    assert agent.lv(cache_device)["active"]


@pytest.mark.parametrize("why", ["tag", "policy"])
def test_what_is_not_ours_any_more_is_left_alone(host: FakeHost, agent: Agent, why: str) -> None:
    ours, _ = cached(agent)
    host.root.reboot(registers=False)
    with host.changing():
        for lv in host.machine.lvs() if why == "tag" else ():
            lv.tags = []
    if why == "policy":
        host.save("/etc/tiercel/agent.json", json.dumps({"vgs": []}).encode())
    done, failed = boot(host)
    assert failed == [] and any("left alone" in line for line in done)
    assert agent.lv(ours)["bcache"] is None


def test_a_group_that_is_left_out_for_a_while_is_not_forgotten(
    host: FakeHost, agent: Agent
) -> None:
    volume, _ = cached(agent)
    with host.changing() as machine:
        machine.vgs[0].tags.append('odd"tag')
    boot(host)
    with host.changing() as machine:
        machine.vgs[0].tags.clear()
    assert len(boot_state.load_boot_state(host)) == 2
    host.root.reboot(registers=False)
    assert boot(host)[1] == []
    assert agent.lv(volume)["bcache"]["cset_uuid"] is not None


def test_a_group_that_other_machines_may_use_is_brought_back_all_the_same(
    host: FakeHost, agent: Agent
) -> None:
    volume, _ = cached(agent)
    paths = host.machine.files[udev_links.PATH]
    hidden = host.machine.files[hiding.PATH]
    with host.changing() as machine:
        machine.vgs[0].lock_type = "sanlock"
    assert not agent.vg()["allowed"]
    host.root.reboot(registers=False)
    assert boot(host)[1] == []
    assert agent.lv(volume)["bcache"]["cset_uuid"] is not None
    assert (host.machine.files[udev_links.PATH], host.machine.files[hiding.PATH]) == (paths, hidden)


def test_a_volume_that_is_off_is_waited_for_and_named(host: FakeHost, agent: Agent) -> None:
    ours, _ = cached(agent)
    host.root.reboot(registers=False)
    with host.changing():
        host.root.lv(ours).minor = None
    _, failed = boot(host)
    assert [line for line in failed if f"vg0/{ours} is not active" in line]
    problems = [problem["message"] for problem in agent.data("hello")["problems"]]
    assert f"vg0/{ours} is not active: its guest cannot start." in problems


def test_a_file_that_cannot_be_read_stops_it_and_registers_nothing(
    host: FakeHost, agent: Agent
) -> None:
    ours, _ = cached(agent)
    host.root.reboot(registers=False)
    host.save(boot_state.PATH, b'{"devices": [{"kind": "anything"}]}')
    _, failed = boot(host)
    assert failed and boot_state.PATH in failed[0]
    assert agent.lv(ours)["bcache"] is None


def test_a_file_that_is_there_and_gives_nothing_is_not_taken_for_none(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached(agent)
    kept = host.machine.files[boot_state.PATH]
    read = host.read
    monkeypatch.setattr(host, "read", lambda path: None if path == boot_state.PATH else read(path))
    with pytest.raises(Refusal, match=boot_state.PATH):
        boot_state.load_boot_state(host)
    lines = [line["text"] for line in agent.do("volume.create", agent.volume_args())["lines"]]
    assert any("notes for the next boot could not be written" in line for line in lines)
    assert host.machine.files[boot_state.PATH] == kept


def test_no_device_is_suspended_for_a_histogram_while_guests_wait(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """@stats_create waits for the I/O under way: on a dying disk that has no end."""
    agent.volume()
    host.root.reboot(registers=False)
    asked: list[str] = []
    monkeypatch.setattr(host, "dm_message", lambda name, message: asked.append(message) or "")
    assert boot(host)[1] == [] and asked == []


def test_the_report_is_about_this_boot_only(host: FakeHost) -> None:
    assert last(host)["ran"] is False
    boot(host)
    assert last(host) == {"unit": True, "ran": True, "failed": []}
    host.root.reboot()
    assert last(host)["ran"] is False
    host.save(REPORT, b"not json")
    assert last(host)["failed"]


def test_until_the_boot_unit_has_ended_nothing_counts_as_lost(host: FakeHost, agent: Agent) -> None:
    volume, _ = cached(agent)
    cset_uuid = agent.lv(volume)["bcache"]["cset_uuid"]
    detach = agent.call("bcache.detach", {"lv": volume, "cset_uuid": cset_uuid})
    host.root.reboot(registers=False, up_seconds=0)
    for reply in (agent.ask("inventory"), agent.ask("bcache.detach", *detach)):
        error = reply["error"]
        assert (error["code"], "just started" in error["message"]) == ("busy", True)
    assert agent.data("hello")["boot"]["ran"] is False
    assert agent.data("sample")["volumes"]
    boot(host)
    assert agent.lv(volume)["bcache"] is not None


def test_a_boot_unit_that_never_ends_blocks_no_operation_for_ever(
    host: FakeHost, agent: Agent
) -> None:
    volume, _ = cached(agent)
    host.root.reboot(registers=False, up_seconds=0)
    host.clock.advance(STARTING_SECONDS)
    assert agent.lv(volume)["bcache"] is None


def test_a_removed_cache_is_forgotten(host: FakeHost, agent: Agent) -> None:
    volume, name = cached(agent)
    uuid = agent.lv(volume)["bcache"]["cset_uuid"]
    assert {each.kind for each in boot_state.load_boot_state(host)} == {"backing", "cset"}
    agent.do("bcache.detach", {"lv": volume, "cset_uuid": uuid})
    agent.do("cset.remove", {"name": name, "cset_uuid": uuid})
    assert [each.kind for each in boot_state.load_boot_state(host)] == ["backing"]


def test_a_key_that_two_volumes_carry_leads_nowhere(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    key = volume[2:]
    assert f"tiercel/{key}" in host.machine.files[udev_links.PATH].decode()
    host.root.add_lv("copy", 64 << 20, tags=["tiercel", f"tiercel.volume={key}"])
    boot(host)
    assert f"tiercel/{key}" not in host.machine.files[udev_links.PATH].decode()


def test_the_path_of_a_bcache_volume_never_leads_below_it(host: FakeHost, agent: Agent) -> None:
    volume, _ = cached(agent)
    host.root.reboot(registers=False)
    assert host.real(f"/dev/tiercel/{volume[2:]}") is None
    boot(host)
    real = host.real(f"/dev/tiercel/{volume[2:]}")
    assert real == f"/dev/{agent.lv(volume)['bcache']['device']}"


def of_a_guest(host: FakeHost, agent: Agent) -> str:
    """A plain volume that the kernel has as a bcache device, by a superblock that its guest
    wrote."""
    plain = agent.volume()
    with host.changing() as machine:
        host.root.lv(plain).signature = Signature("bcache", machine.uuid4())
    host.write("/sys/fs/bcache/register_quiet", f"/dev/vg0/{plain}")
    assert agent.lv(plain)["bcache"]["device"] is not None
    return plain


def test_a_tenants_superblock_leads_no_path_elsewhere(host: FakeHost, agent: Agent) -> None:
    plain = of_a_guest(host, agent)
    boot(host)
    with host.changing() as machine:
        udev.appeared(machine, f"/dev/vg0/{plain}")
        udev.appeared(machine, f"/dev/{agent.lv(plain)['bcache']['device']}")
    assert host.real(f"/dev/tiercel/{plain[2:]}") is None
    ours = agent.backing()
    assert host.real(f"/dev/tiercel/{ours[2:]}") == f"/dev/{agent.lv(ours)['bcache']['device']}"


def test_the_start_after_one_that_took_a_tenants_superblock_for_its_own_has_the_volumes_path(
    host: FakeHost, agent: Agent
) -> None:
    plain = of_a_guest(host, agent)
    boot(host)
    host.root.reboot()
    assert host.real(f"/dev/tiercel/{plain[2:]}") == f"/dev/{agent.lv(plain)['kname']}"
    assert boot(host)[1] == [] and agent.lv(plain)["bcache"] is None


def test_a_tenants_superblock_gets_no_event_that_would_register_it(
    host: FakeHost, agent: Agent
) -> None:
    host.root.add_lv("web12", 64 << 20, signature="bcache")
    agent.do(
        "volume.tag",
        {"lv": "web12", "volume_key": "aaaaaaaa"},
        lv_name="web12",
        size_bytes=64 << 20,
    )
    assert "tiercel/aaaaaaaa" in host.machine.files[udev_links.PATH].decode()
    assert host.real("/dev/tiercel/aaaaaaaa") is None
    assert agent.lv("web12")["bcache"] is None


def test_what_a_killed_operation_did_not_note_is_noted_later(host: FakeHost, agent: Agent) -> None:
    volume, _ = cached(agent)
    del host.machine.files[boot_state.PATH]
    agent.volume()
    noted = boot_state.load_boot_state(host)
    assert sorted(each.kind for each in noted) == ["backing", "cset"]
    backing = next(each for each in noted if each.kind == "backing")
    assert backing.settings["sequential_cutoff"] == "0"
    host.root.reboot(registers=False)
    assert boot(host)[1] == []
    assert agent.lv(volume)["bcache"]["sequential_cutoff_bytes"] == 0


def test_a_setting_is_noted_before_it_is_made_and_a_moments_lock_after_it_fails_nothing(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume, _ = cached(agent)
    write, noted = host.write, []

    def written(path: str, value: str) -> None:
        noted.append(
            {each.kind: each for each in boot_state.load_boot_state(host)}["backing"].settings
        )
        write(path, value)
        host.machine.locked.add("vg0")

    def slept(seconds: float) -> None:
        host.machine.locked.discard("vg0")

    monkeypatch.setattr(host, "write", written)
    monkeypatch.setattr(host, "sleep", slept)
    agent.do("bcache.set", {"lv": volume, "sequential_cutoff_bytes": 1 << 20})
    assert [each["sequential_cutoff"] for each in noted] == [str(1 << 20)]
    monkeypatch.undo()
    host.root.reboot(registers=False)
    assert boot(host)[1] == []
    assert agent.lv(volume)["bcache"]["sequential_cutoff_bytes"] == 1 << 20


def test_a_tenants_device_is_never_noted(host: FakeHost, agent: Agent) -> None:
    cached(agent)
    plain = agent.volume()
    with host.changing() as machine:
        host.root.lv(plain).signature = Signature("bcache", machine.uuid4())
    host.write("/sys/fs/bcache/register_quiet", f"/dev/vg0/{plain}")
    agent.volume()
    uuid = agent.lv(plain)["uuid"]
    assert uuid not in {each.lv_uuid for each in boot_state.load_boot_state(host)}

"""bcache that root made by hand comes back after every restart; what a guest made never does."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from storage.agent.calls.refusals import Refusal
from storage.agent.guests import hiding
from storage.agent.operations.boot import boot
from storage.agent.state import admin, boot_state
from storage.agent.state.policy import Policy
from tests.contract.client import Agent
from tests.contract.fake_world import FakeWorld
from tests.fake import FakeHost
from tests.fake.parts import GIB, MIB

KEEP = "/usr/lib/tiercel/agent.pyz keep-bcache"


@pytest.fixture
def host(make_fake_host: Callable[..., FakeHost]) -> FakeHost:
    """bcache of two volumes, made by hand before Tiercel came: a guest runs on it."""
    host = make_fake_host(observe_only=True)
    host.root.add_lv("data", GIB)
    host.root.add_lv("fast", 256 * MIB, "md0")
    device = host.root.bcache_by_hand("data", "fast")
    host.root.guest("web1", device)
    boot(host)
    return host


@pytest.fixture
def agent(host: FakeHost) -> Agent:
    return Agent(FakeWorld(host))


def adopt(agent: Agent, name: str = "data") -> None:
    agent.do("volume.tag", {"lv": name, "volume_key": "abcdefgh"}, lv_name=name, size_bytes=GIB)


def restarted(host: FakeHost, *, registers: bool = True) -> None:
    host.root.reboot(registers=registers)
    assert boot(host)[1] == []


def is_back(agent: Agent, name: str = "data") -> bool:
    backing = agent.lv(name)["bcache"]
    return backing is not None and backing["cset_uuid"] is not None


def problems(agent: Agent) -> dict[str, dict[str, str]]:
    return {each["code"]: each for each in agent.data("hello")["problems"]}


def test_it_is_back_on_a_host_that_is_only_looked_at(host: FakeHost, agent: Agent) -> None:
    restarted(host)
    restarted(host)
    assert is_back(agent)
    assert boot_state.load_boot_state(host) == ()


def test_it_is_back_where_its_group_was_allowed(host: FakeHost, agent: Agent) -> None:
    admin.allow_vg(host, "vg0")
    for _ in range(3):
        restarted(host)
        assert is_back(agent)


def test_udev_itself_brings_it_back_for_what_is_mounted_from_it(
    host: FakeHost, agent: Agent
) -> None:
    admin.allow_vg(host, "vg0")
    boot(host)
    host.root.reboot()
    assert is_back(agent), "before the boot unit"


def test_it_is_back_where_it_was_adopted(host: FakeHost, agent: Agent) -> None:
    admin.allow_vg(host, "vg0")
    adopt(agent)
    assert FakeWorld(host).path_of("abcdefgh") == "bcache0"
    for registers in (True, False, True):
        restarted(host, registers=registers)
        assert is_back(agent)
        assert FakeWorld(host).path_of("abcdefgh") == "bcache0"


def test_it_is_back_where_an_agent_before_this_one_adopted_it(host: FakeHost, agent: Agent) -> None:
    host.save("/etc/tiercel/agent.json", b'{"vgs": ["vg0"]}')
    with host.changing():
        host.root.lv("data").tags = ["tiercel", "tiercel.volume=abcdefgh"]
    boot(host)
    restarted(host)
    assert is_back(agent)


def test_what_a_restart_would_lose_is_a_problem_until_it_is_noted(
    host: FakeHost, agent: Agent
) -> None:
    host.save("/etc/tiercel/agent.json", b'{"vgs": ["vg0"]}')
    lost = problems(agent)["bcache_not_noted"]
    assert (lost["severity"], lost["subject"]) == ("error", "vg0/data")
    boot(host)
    assert "bcache_not_noted" not in problems(agent)
    restarted(host, registers=False)
    assert is_back(agent)


def test_settings_that_the_panel_gives_it_come_back_too(host: FakeHost, agent: Agent) -> None:
    admin.allow_vg(host, "vg0")
    adopt(agent)
    agent.do("bcache.set", {"lv": "data", "sequential_cutoff_bytes": 0})
    boot(host)
    host.root.reboot()
    assert is_back(agent), "udev goes on to register it"
    assert boot(host)[1] == []
    assert agent.lv("data")["bcache"]["sequential_cutoff_bytes"] == 0


def rewritten(host: FakeHost, change: Callable[[dict[str, Any]], None]) -> None:
    """As another release of the agent would write the file."""
    document = json.loads(host.read(boot_state.PATH) or b"")
    for each in document["devices"]:
        change(each)
    host.save(boot_state.PATH, json.dumps(document).encode())


def test_what_an_older_agent_forgot_root_says_again(host: FakeHost, agent: Agent) -> None:
    admin.allow_vg(host, "vg0")
    adopt(agent)
    agent.do("bcache.set", {"lv": "data", "sequential_cutoff_bytes": 0})
    rewritten(host, lambda each: each.pop("by_hand"))
    assert not any(each.by_hand for each in boot_state.load_boot_state(host))
    admin.keep_bcache(host, "vg0/data")
    kept = boot_state.load_boot_state(host)
    assert len(kept) == 2 and all(each.by_hand for each in kept)
    assert {"sequential_cutoff": "0"} in [each.settings for each in kept]


def test_what_a_later_agent_noted_is_still_there_after_this_one_wrote(
    host: FakeHost, agent: Agent
) -> None:
    admin.allow_vg(host, "vg0")
    adopt(agent)
    rewritten(host, lambda each: each.update(later={"why": "a later release"}))
    agent.do("bcache.set", {"lv": "data", "sequential_cutoff_bytes": 0})
    document = json.loads(host.read(boot_state.PATH) or b"")
    assert [each["later"] for each in document["devices"]] == [{"why": "a later release"}] * 2


def test_a_late_set_loses_nothing(host: FakeHost, agent: Agent) -> None:
    """The set's volume is off at the first start, and comes by hand."""
    admin.allow_vg(host, "vg0")
    with host.changing():
        host.root.lv("fast").skipped = True
    host.root.reboot()
    boot(host)
    assert not is_back(agent)
    with host.changing():
        host.root.lv("fast").skipped = False
    host.write("/sys/block/dm-0/bcache/stop", "1")
    with host.changing():
        host.root.lv("fast").minor = 7
    restarted(host)
    assert is_back(agent)


def test_root_says_whose_an_unused_bcache_is(
    make_fake_host: Callable[..., FakeHost],
) -> None:
    host = make_fake_host(observe_only=True)
    agent = Agent(FakeWorld(host))
    host.root.add_lv("data", GIB)
    host.root.add_lv("fast", 256 * MIB, "md0")
    host.root.bcache_by_hand("data", "fast")
    named = [each for each in agent.data("hello")["problems"] if each["code"] == "bcache_unclear"]
    assert [each["severity"] for each in named] == ["info", "info"]
    assert "vg0/data" in named[0]["message"] and f"{KEEP} vg0/data" in named[0]["correction"]
    with pytest.raises(Refusal, match="vg0/data is bcache at work") as refused:
        admin.allow_vg(host, "vg0")
    assert f"{KEEP} vg0/data" in refused.value.correction
    assert agent.data("hello")["policy"]["vgs"] == []
    assert "starts after a restart" in admin.keep_bcache(host, "vg0/data")
    assert "bcache_unclear" not in problems(agent)
    admin.allow_vg(host, "vg0")
    adopt(agent)
    restarted(host)
    restarted(host)
    assert is_back(agent)


def test_what_is_unclear_is_not_adopted(make_fake_host: Callable[..., FakeHost]) -> None:
    host = make_fake_host()
    agent = Agent(FakeWorld(host))
    host.root.add_lv("data", GIB)
    host.root.bcache_by_hand("data")
    with agent.unchanged():
        tag = {"lv": "data", "volume_key": "abcdefgh"}
        assert agent.refused("volume.tag", tag, lv_name="data", size_bytes=GIB) == "unsupported"
    admin.keep_bcache(host, "vg0/data")
    adopt(agent)
    restarted(host)
    assert agent.lv("data")["bcache"] is not None


@pytest.mark.parametrize("adopted", [False, True], ids=["not adopted", "adopted"])
@pytest.mark.parametrize("cache", [None, "fast"], ids=["backing", "both"])
def test_what_a_guest_made_before_tiercel_came_does_not_come_back(
    make_fake_host: Callable[..., FakeHost], cache: str | None, adopted: bool
) -> None:
    host = make_fake_host(observe_only=True)
    agent = Agent(FakeWorld(host))
    host.root.add_lv("data", GIB)
    host.root.add_lv("fast", 256 * MIB, "md0")
    host.root.guest("evil", "/dev/vg0/data")
    host.root.guest("evil2", "/dev/vg0/fast")
    host.root.bcache_by_hand("data", cache)
    assert agent.lv("data")["bcache"] is not None, "the distribution's rule does that"
    admin.allow_vg(host, "vg0")
    if adopted:
        adopt(agent)
    boot(host)
    assert boot_state.load_boot_state(host) == ()
    restarted(host)
    assert agent.lv("data")["bcache"] is None
    assert agent.inventory()["csets"] == []


def test_root_cannot_keep_what_a_guest_uses_itself(host: FakeHost, agent: Agent) -> None:
    host.root.add_lv("evil", GIB)
    host.root.guest("evil", "/dev/vg0/evil")
    host.root.bcache_by_hand("evil")
    with pytest.raises(Refusal, match="vg0/evil itself is used by qemu evil"):
        admin.keep_bcache(host, "vg0/evil")
    assert boot_state.load_boot_state(host) == ()


@pytest.mark.parametrize("name", ["vg0/fast2", "data", "vg0/plain"])
def test_only_bcache_at_work_can_be_kept(host: FakeHost, name: str) -> None:
    host.root.add_lv("plain", 64 * MIB)
    with pytest.raises(Refusal):
        admin.keep_bcache(host, name)


def test_a_set_on_a_volume_that_a_guest_uses_makes_its_user_unclear(
    host: FakeHost, agent: Agent
) -> None:
    host.root.guest("evil", "/dev/vg0/fast")
    assert "its cache lies on vg0/fast" in problems(agent)["bcache_unclear"]["message"]


def test_another_superblock_on_a_kept_volume_is_not_registered(
    host: FakeHost, agent: Agent
) -> None:
    """Root gave the volume to a guest without telling anybody."""
    admin.allow_vg(host, "vg0")
    boot(host)
    with host.changing() as machine:
        machine.backings.clear()
        machine.csets.clear()
        machine.processes.clear()
    host.root.guest("evil", "/dev/vg0/data")
    host.root.bcache_by_hand("data")
    restarted(host)
    assert agent.lv("data")["bcache"] is None


def test_a_retired_one_does_not_come_back(host: FakeHost, agent: Agent) -> None:
    admin.allow_vg(host, "vg0")
    adopt(agent)
    with host.changing():
        host.root.lv("data").tags.append("tiercel.retired=1")
    boot(host)
    assert agent.lv("data")["bcache"] is not None
    host.root.reboot()
    boot(host)
    assert agent.lv("data")["bcache"] is None


def test_a_group_on_bcache_of_a_group_that_is_not_named_is_the_hosts(host: FakeHost) -> None:
    """An observe-only host's own LVM, md and bcache on such a device go on."""
    uuid = host.machine.backings[0].uuid
    rules = host.machine.files[hiding.PATH].decode()
    assert f'ATTRS{{bcache/backing_dev_uuid}}=="{uuid}", GOTO="tiercel_end"' in rules
    admin.allow_vg(host, "vg0")
    boot(host)
    rules = host.machine.files[hiding.PATH].decode()
    assert f'=="{uuid}", GOTO="tiercel_end"' in rules
    assert f'ATTRS{{bcache/backing_dev_uuid}}=="{uuid}"' not in rules


def test_hiding_guests_names_what_is_unclear(
    make_fake_host: Callable[..., FakeHost],
) -> None:
    host = make_fake_host(sees_guests=True)
    host.root.add_lv("data", GIB)
    host.root.bcache_by_hand("data")
    assert f"{KEEP} vg0/data" in hiding.hide_guests(host, Policy(("vg0",)))

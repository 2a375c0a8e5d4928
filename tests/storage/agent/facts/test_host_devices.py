"""What the host itself lives on is no customer's volume: root, /boot, /usr, /var and swap."""

from __future__ import annotations

import pytest

from storage.agent.facts.host_devices import is_own
from tests.contract.client import POOL_BYTES, Agent, pool_args
from tests.fake import FakeHost
from tests.storage.agent.facts.test_lvm_activity import said
from tests.storage.agent.verbs.test_extend_hazards import extension, moved


@pytest.mark.parametrize(
    ("point", "own"),
    [
        ("/", True),
        ("/boot/efi", True),
        ("/usr", True),
        ("/var", True),
        ("/var/lib/tiercel", True),
        ("/sysroot", True),
        ("/nix/store", True),
        ("/srv", False),
        ("/mnt/var", False),
        ("/various", False),
        ("/home", False),
    ],
)
def test_where_the_host_itself_lives(point: str, own: bool) -> None:
    assert is_own(point) is own


@pytest.mark.parametrize("point", ["/", "/var", "/usr"])
def test_a_volume_of_the_host_is_listed_with_its_use(
    host: FakeHost, agent: Agent, point: str
) -> None:
    volume = agent.volume()
    host.root.mount(f"/dev/vg0/{volume}", point)
    assert agent.lv(volume)["host_use"] == f"mounted at {point}"


def test_swap_and_a_bcache_volume_under_root_are_the_hosts_own(
    host: FakeHost, agent: Agent
) -> None:
    volume, backing = agent.volume(), agent.backing()
    host.root.mount(host.root.device(backing), "/")
    host.root.swap(f"/dev/vg0/{volume}")
    assert agent.lv(volume)["host_use"] == "swap"
    assert agent.lv(backing)["host_use"] == "mounted at /"


def test_a_volume_that_the_host_only_stores_on_is_not_its_own(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    host.root.mount(f"/dev/vg0/{volume}", "/srv")
    assert agent.lv(volume)["host_use"] == ""


def test_nothing_is_done_to_the_hosts_own_volume(host: FakeHost, agent: Agent) -> None:
    volume = agent.volume()
    key = volume[2:]
    agent.do("pool.create", pool_args(key, size_bytes=POOL_BYTES))
    host.root.mount(f"/dev/vg0/{volume}", "/var")
    with agent.unchanged():
        for verb, args in (
            ("volume.extend", extension(volume)),
            ("volume.move", moved(volume)),
            ("cache.attach", {"lv": volume, "pool": f"c-{key}", "mode": "writethrough"}),
            (
                "volume.retire",
                {
                    "lv": volume,
                    "retired_name": f"del-{key}",
                    "volume_key": key,
                    "layout": "plain",
                },
            ),
        ):
            assert said(agent, verb, args) == (
                f"in_use: vg0/{volume} belongs to the host itself: mounted at /var."
            )


def test_a_bcache_volume_that_the_host_lives_on_gets_no_cache(host: FakeHost, agent: Agent) -> None:
    volume = agent.backing()
    _, uuid = agent.cset(volume)
    host.root.mount(host.root.device(volume), "/var")
    wished = {"cache_mode": "writethrough", "sequential_cutoff_bytes": 0}
    with agent.unchanged():
        attach = {"lv": volume, "cset_uuid": uuid, **wished}
        assert said(agent, "bcache.attach", attach).startswith("in_use: ")


def test_the_hosts_own_volume_is_not_even_tagged(host: FakeHost, agent: Agent) -> None:
    root = host.root.add_lv("root", 64 << 20)
    host.root.mount("/dev/vg0/root", "/")
    expect = {"lv_uuid": root.uuid, "lv_name": "root", "size_bytes": root.size_bytes}
    tag = {"vg": "vg0", "lv": "root", "volume_key": "aaaaaaaabbbbbbbb"}
    expect |= agent.expecting(None)
    with agent.unchanged():
        assert agent.ask("volume.tag", tag, expect)["error"]["code"] == "in_use"


def test_a_cache_that_root_has_can_still_be_taken_off(host: FakeHost, agent: Agent) -> None:
    cached, pool = agent.cached()
    host.root.mount(f"/dev/vg0/{cached}", "/")
    agent.do("cache.detach", {"lv": cached, "pool": pool, "dirty_limit_bytes": 0})

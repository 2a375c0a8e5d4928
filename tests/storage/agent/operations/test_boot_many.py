"""The boot unit on a host with many volumes, of which some cannot come back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from storage.agent.operations.boot import boot
from storage.agent.state import boot_state
from tests.fake import FakeHost
from tests.fake.parts import MIB, Lv, Pv, Signature

VOLUMES = 300
CACHED = 100
DEAD = 10
BUCKET_BYTES = 4096
WITHIN_SECONDS = 120


@pytest.fixture
def unmirrored(make_fake_host: Callable[..., FakeHost]) -> FakeHost:
    """Two SSDs, of which each can die alone."""
    host = make_fake_host(single_ssd=True)
    with host.changing() as machine:
        sdb = next(disk for disk in machine.disks if disk.name == "sdb")
        machine.vgs[0].pvs.append(Pv(sdb, machine.lvm_uuid()))
    return host


def add_cached(host: FakeHost, number: int, ssd: str) -> Lv:
    """A bcache volume with a set of its own, as the panel would have made both."""
    key = f"{number:08}".translate(str.maketrans("0189", "abcd"))
    tags = ["tiercel", f"tiercel.volume={key}"]
    cset_uuid = host.machine.uuid4()
    volume = host.root.add_lv(f"v-{key}", 16 * MIB, ("sdc", "sdd")[number % 2], tags=tags)
    cset = host.root.add_lv(f"s-{key}", 8 * MIB, ssd, tags=[*tags, "tiercel.made=cset"])
    volume.signature = Signature(
        "bcache", host.machine.uuid4(), cset_uuid, data_sectors=2048, attached=True
    )
    cset.signature = Signature("bcache", host.machine.uuid4(), cset_uuid, True, BUCKET_BYTES)
    for lv in (cset, volume):
        host.write("/sys/fs/bcache/register_quiet", lv.path)
    return volume


def the_fleet(host: FakeHost) -> tuple[list[Lv], list[Lv]]:
    """(cached volumes of the SSD that lives, those of the one that will die), beside plain ones;
    all that the agent would have noted of them."""
    healthy = [add_cached(host, number, "sda") for number in range(CACHED - DEAD)]
    dying = [add_cached(host, number, "sdb") for number in range(CACHED - DEAD, CACHED)]
    for number in range(CACHED, VOLUMES):
        host.root.add_lv(f"plain{number}", 4 * MIB, ("sdc", "sdd")[number % 2])
    assert boot(host)[1] == []
    assert len(boot_state.load_boot_state(host)) == 2 * CACHED
    return healthy, dying


def device(host: FakeHost, lv: Lv) -> str | None:
    backing = host.machine.backing(lv)
    return None if backing is None or backing.waits_for is not None else backing.device


@pytest.mark.timeout(300)
def test_healthy_volumes_are_back_in_two_minutes_beside_a_dead_ssd_and_a_slow_report(
    unmirrored: FakeHost,
) -> None:
    host = unmirrored
    healthy, dying = the_fleet(host)
    host.root.lose_pv("sdb")
    host.root.reboot(registers=False)
    host.slow_next("lvm", 45.0)
    began_ns = host.boottime_ns()
    _, failed = boot(host)
    assert (host.boottime_ns() - began_ns) / 1e9 < WITHIN_SECONDS
    assert [lv.name for lv in healthy if device(host, lv) is None] == []
    assert [lv.name for lv in dying if device(host, lv) is not None] == []
    for lv in dying:
        assert any(f"vg0/{lv.name} " in line or f"vg0/{lv.name}:" in line for line in failed)
    assert len(failed) == 2 * DEAD, "each volume and each set, and nothing else"


def test_a_group_is_free_while_a_device_of_it_is_waited_for(
    unmirrored: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = unmirrored
    lost = add_cached(host, 1, "sdb")
    boot(host)
    host.root.lose_pv("sdb")
    host.root.reboot(registers=False)
    slept: list[float] = []
    sleep = host.sleep

    def slept_free(seconds: float) -> None:
        monkeypatch.setattr(host, "sleep", sleep)
        with host.lock("vg0", 0.0):
            slept.append(seconds)
        monkeypatch.setattr(host, "sleep", slept_free)
        sleep(seconds)

    monkeypatch.setattr(host, "sleep", slept_free)
    boot(host)
    assert 20 < sum(slept) < 40
    assert device(host, lost) is None


def test_a_set_that_comes_late_brings_its_volume(
    host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = add_cached(host, 1, "md0")
    cset = host.root.lv(late.name.replace("v-", "s-"))
    boot(host)
    host.root.reboot(registers=False)
    with host.changing():
        minor, cset.minor = cset.minor, None
    sleep, slept = host.sleep, [0.0]

    def active_after_half_a_minute(seconds: float) -> None:
        slept[0] += seconds
        if slept[0] > 30:
            with host.changing():
                cset.minor = minor
        sleep(seconds)

    monkeypatch.setattr(host, "sleep", active_after_half_a_minute)
    assert boot(host)[1] == []
    assert device(host, late) is not None


def test_a_report_that_fails_for_minutes_is_asked_for_until_it_comes(host: FakeHost) -> None:
    volume = add_cached(host, 1, "md0")
    boot(host)
    host.root.reboot(registers=False)
    for _ in range(4):
        host.slow_next("lvm", 600.0)
    host.fail_next("lvm", stderr='  Volume group "vg0" changed while it was read.\n')
    assert boot(host)[1] == []
    assert device(host, volume) is not None


def test_a_repeated_run_waits_for_nothing(unmirrored: FakeHost) -> None:
    host = unmirrored
    add_cached(host, 1, "sdb")
    boot(host)
    host.root.lose_pv("sdb")
    host.root.reboot(registers=False)
    first = boot(host)[1]
    began_ns = host.boottime_ns()
    assert boot(host)[1] == first
    assert host.boottime_ns() - began_ns < 1_000_000_000


def test_a_group_that_an_operation_holds_is_named_and_comes_later(host: FakeHost) -> None:
    volume = add_cached(host, 1, "md0")
    boot(host)
    host.root.reboot(registers=False)
    with host.lock("vg0", 0.0):
        _, failed = boot(host)
    assert len(failed) == 1 and "another operation holds the VG" in failed[0]
    assert boot(host)[1] == []
    assert device(host, volume) is not None

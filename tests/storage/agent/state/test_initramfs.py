"""The host starts what an initramfs starts: an image that hides no guests' disks is reported."""

from __future__ import annotations

import pytest

from storage.agent.facts.hello import hello
from storage.agent.guests import hiding
from storage.agent.kernel import disks
from storage.agent.operations.boot import boot
from storage.agent.state import initramfs
from storage.agent.state.initramfs import COMMAND
from tests.contract.client import Agent
from tests.fake import FakeHost

KERNEL = "6.1.0-37-amd64"
HOOK = "/etc/initramfs-tools/hooks/tiercel"


@pytest.fixture
def debian(host: FakeHost) -> FakeHost:
    """With the images of a kernel and of one that is gone, built before the enrolment."""
    with host.changing() as machine:
        machine.files[f"/boot/initrd.img-{KERNEL}"] = b""
        machine.files["/boot/initrd.img-5.10.0-1-amd64"] = b""
        machine.files[f"/lib/modules/{KERNEL}/modules.dep"] = b""
        machine.files[HOOK] = b"#!/bin/sh\n"
    boot(host)
    return host


def corrections(host: FakeHost, code: str = "initramfs_stale") -> list[str]:
    return [each["correction"] for each in hello(host)["problems"] if each["code"] == code]


def test_an_image_of_before_the_enrolment_is_stale_until_it_is_built_anew(debian: FakeHost) -> None:
    assert corrections(debian) == [f"As root on the host run: {COMMAND}"]
    assert initramfs.renew_initramfs(debian) == (["update-initramfs -u -k all"], [])
    assert corrections(debian) == []
    assert initramfs.renew_initramfs(debian) == ([], []), "nothing is built twice"


@pytest.mark.parametrize("path", [hiding.PATH, hiding.LOCAL])
def test_a_change_of_what_hides_guests_makes_it_stale_again(debian: FakeHost, path: str) -> None:
    initramfs.renew_initramfs(debian)
    with debian.changing() as machine:
        machine.files[path] += b"# more\n"
    assert corrections(debian)


def test_without_our_hook_the_enrolment_is_to_be_run_again(debian: FakeHost) -> None:
    with debian.changing() as machine:
        del machine.files[HOOK]
    (correction,) = corrections(debian)
    assert "enrol" in correction
    done, failed = initramfs.renew_initramfs(debian)
    assert done == [] and "enrol" in failed[0]


def test_no_disk_of_the_host_is_to_be_added_to_a_guests_array(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    kname = agent.lv(agent.volume())["kname"]
    (array,) = disks.arrays(host)
    guests = array | {"name": "md127", "degraded_count": 1}
    monkeypatch.setattr(disks, "arrays", lambda _: [array, guests])
    with host.changing() as machine:
        machine.files[f"/sys/block/md127/slaves/{kname}"] = b""
    (correction,) = corrections(host, "guest_array")
    assert "mdadm --stop /dev/md127" in correction
    assert corrections(host, "array_degraded") == []

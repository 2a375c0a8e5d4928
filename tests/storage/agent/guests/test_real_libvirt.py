"""guest.resize and the users of a volume against libvirt itself, with domains that stand still."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from storage.agent.calls.refusals import Refusal
from storage.agent.commands.command import run as command
from storage.agent.guests import libvirt, virsh
from storage.agent.guests.libvirt import DomainDisk
from storage.agent.guests.users import of_devices
from storage.agent.guests.virsh import blockresize

from .libvirtd import Inside, Libvirtd, enlarge, loop_device, missing, started

BEFORE, AFTER = 16 << 20, 32 << 20
UUID = "00000000-0000-4000-8000-0000000000%02d"

pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=missing()),
    # One libvirtd for all of them.
    pytest.mark.xdist_group("libvirtd"),
]


@pytest.fixture(scope="module")
def libvirtd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Libvirtd]:
    with started(tmp_path_factory.mktemp("libvirtd")) as running:
        yield running


@dataclass
class Volume:
    """A block device that a domain of libvirt has as its disk."""

    libvirtd: Libvirtd
    host: Inside
    image: Path
    path: str
    uuid: str

    def users(self) -> list[dict[str, Any]]:
        device = self.host.rdev(self.path)
        assert device is not None
        found = of_devices(self.host, [device])[device]
        return [each for each in found if each["kind"] != "process"]

    def tell(self) -> list[str]:
        """Grow the volume and inform its domain."""
        enlarge(self.image, self.path, AFTER)
        said: list[str] = []
        words = blockresize({"uuid": self.uuid, "path": self.path}, AFTER)
        sizes = {"from_bytes": BEFORE, "size_bytes": AFTER}
        assert virsh.run_virsh(self.host, command("tell", *words), sizes, said.append) == 0
        return said

    def begin(self, job: str) -> None:
        """A job of libvirt's that stays at work: a backup, or a block copy."""
        folder = self.image.parent
        if job == "block copy":
            words = ("--dest", str(folder / "copy"), "--format", "raw", "--transient-job")
            self.libvirtd.virsh("blockcopy", self.uuid, "vda", *words)
            return
        document = folder / "backup.xml"
        document.write_text(
            f"<domainbackup mode='pull'><server transport='unix' socket='{folder / 'nbd'}'/><disks>"
            f"<disk name='vda' type='file'><scratch file='{folder / 'scratch'}'/></disk>"
            "</disks></domainbackup>"
        )
        self.libvirtd.virsh("backup-begin", self.uuid, str(document))

    def busy(self) -> str:
        with pytest.raises(Refusal) as caught:
            self.tell()
        assert caught.value.code == "guest_busy"
        return caught.value.message

    def sees(self, disk: str = "vda") -> int:
        said = self.libvirtd.virsh("domblkinfo", self.uuid, disk)
        return int(said.split()[1])


@pytest.fixture
def devices() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def volume(libvirtd: Libvirtd, tmp_path: Path, devices: ExitStack) -> Iterator[Volume]:
    yield from domain(libvirtd, tmp_path, devices, "web12", 12)


def domain(
    libvirtd: Libvirtd, folder: Path, devices: ExitStack, name: str, number: int
) -> Iterator[Volume]:
    image = folder / name
    path = devices.enter_context(loop_device(image, BEFORE))
    uuid = UUID % number
    disk = f"type='block'><driver name='qemu' type='raw'/><source dev='{path}'/>"
    libvirtd.define(name, uuid, disk)
    try:
        yield Volume(libvirtd, Inside(libvirtd, folder), image, path, uuid)
    finally:
        if uuid in libvirtd.virsh("list", "--uuid"):
            libvirtd.virsh("destroy", uuid)
        libvirtd.virsh("undefine", uuid)


def test_a_domain_is_seen_and_informed(volume: Volume) -> None:
    (user,) = volume.users()
    assert user["pid"] is not None and user["kind"] == "libvirt" and user["name"] == "web12"
    assert (user["domain"], user["path"]) == (volume.uuid, volume.path)
    assert (user["disk"], user["format"]) == ("vda", "raw")
    assert volume.tell() == []
    assert volume.sees() == AFTER
    assert "sees" in volume.tell()[0]


def test_a_name_of_digits_is_no_other_domains_number(
    volume: Volume, libvirtd: Libvirtd, tmp_path: Path, devices: ExitStack
) -> None:
    number = libvirtd.virsh("domid", volume.uuid).strip()
    numbered = domain(libvirtd, tmp_path, devices, number, 13)
    other = next(numbered)
    # virsh takes the name for the number of the first one.
    assert libvirtd.virsh("domuuid", number).strip() == volume.uuid
    assert other.tell() == []
    assert (other.sees(), volume.sees()) == (AFTER, BEFORE)
    numbered.close()


ENDS = {"backup": ("domjobabort",), "block copy": ("blockjob", "vda", "--abort")}


@pytest.mark.parametrize("job", ENDS)
def test_a_backup_or_a_copy_is_waited_for_by_name(volume: Volume, job: str) -> None:
    volume.begin(job)
    assert f"{job} is running" in volume.busy()
    assert volume.sees() == BEFORE
    verb, *words = ENDS[job]
    volume.libvirtd.virsh(verb, volume.uuid, *words)
    volume.tell()
    assert volume.sees() == AFTER


@pytest.mark.parametrize("job", ENDS)
def test_a_job_that_began_after_the_look_is_waited_for_too(
    volume: Volume, monkeypatch: pytest.MonkeyPatch, job: str
) -> None:
    """By what QEMU itself says of a disk in use."""
    monkeypatch.setattr(virsh, "_job", lambda *asked: "")
    volume.begin(job)
    assert "block_resize" in volume.busy()
    assert volume.sees() == BEFORE


def test_what_lies_below_a_snapshot_is_used_and_has_no_size_of_its_own(
    volume: Volume, tmp_path: Path
) -> None:
    overlay = f"vda,file={tmp_path / 'overlay'}"
    words = ("--disk-only", "--no-metadata", "--diskspec", overlay)
    volume.libvirtd.virsh("snapshot-create-as", volume.uuid, "first", *words)
    (user,) = volume.users()
    assert (user["kind"], user["format"]) == ("libvirt", "backing")
    (said,) = volume.tell()
    assert "not informed" in said
    volume.libvirtd.virsh("destroy", volume.uuid)
    (user,) = volume.users()
    assert (user["pid"], user["kind"], user["format"]) == (None, "libvirt", "backing")


def test_a_domain_that_is_off_is_seen_and_needs_no_word(volume: Volume) -> None:
    volume.libvirtd.virsh("destroy", volume.uuid)
    (user,) = volume.users()
    assert (user["pid"], user["kind"], user["path"]) == (None, "libvirt", volume.path)
    assert "sees" in volume.tell()[0]


def test_a_stopped_guest_is_waited_for_and_informed_once_it_runs(
    volume: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(virsh, "SECONDS", 3.0)
    with volume.libvirtd.standing_still("guest=web12,"):
        assert "did not answer" in volume.busy()
        # The virsh that was killed left libvirt at work: what asks next waits for its lock.
        assert "did not answer" in volume.busy()
    volume.tell()
    assert volume.sees() == AFTER


def test_a_libvirtd_that_stands_still_is_waited_for(
    volume: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(virsh, "SECONDS", 2.0)
    with volume.libvirtd.standing_still("libvirtd -p"):
        assert "did not answer" in volume.busy()
    monkeypatch.undo()
    volume.tell()
    assert volume.sees() == AFTER


def test_a_disk_from_a_pool_is_its_domains(libvirtd: Libvirtd, tmp_path: Path) -> None:
    path = tmp_path / "pool" / "web14"
    path.parent.mkdir()
    path.write_bytes(bytes(BEFORE))
    libvirtd.virsh("pool-create-as", "fast", "dir", "--target", str(path.parent))
    disk = "type='volume'><driver name='qemu' type='raw'/><source pool='fast' volume='web14'/>"
    libvirtd.define("web14", UUID % 14, disk)
    found = [each for each in libvirt.disks(Inside(libvirtd, tmp_path)) if each.name == "web14"]
    # In what runs and in what will run.
    assert found == [DomainDisk("web14", UUID % 14, "vda", str(path), "raw")] * 2
    said = libvirtd.virsh("domblkinfo", UUID % 14, str(path))
    assert f"Capacity:       {BEFORE}" in said
    libvirtd.virsh("destroy", UUID % 14)
    libvirtd.virsh("undefine", UUID % 14)
    libvirtd.virsh("pool-destroy", "fast")


def test_a_libvirtd_that_is_not_there_is_waited_for(volume: Volume) -> None:
    with volume.libvirtd.without_socket():
        assert "libvirt does not answer" in volume.busy()
    volume.tell()
    assert volume.sees() == AFTER

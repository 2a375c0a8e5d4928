"""Disks of libvirt's domains, as its files name them."""

from __future__ import annotations

import pytest

from storage.agent.guests import libvirt
from storage.agent.guests.libvirt import DomainDisk
from tests.fake import FakeHost
from tests.fake.fixtures import fake_host as fake_host

UUID = "00000000-0000-4000-8000-000000000012"
DISK = "<driver name='qemu' type='raw'/><source dev='/dev/vg0/web12'/><target dev='vda'/>"


def disks(
    host: FakeHost, disk: str, uuid: str = UUID, folder: str = "/etc/libvirt/qemu"
) -> list[DomainDisk]:
    """What a domain with one disk has."""
    document = (
        f"<domain type='kvm'><name>web12</name><uuid>{uuid}</uuid><devices><disk>{disk}</disk>"
        "<disk type='file' device='cdrom'><target dev='sda'/></disk></devices></domain>"
    )
    if folder.startswith("/run/"):
        document = f"<domstatus>{document}</domstatus>"
    host.save(f"{folder}/web12.xml", document.encode())
    return list(libvirt.disks(host))


@pytest.mark.parametrize("folder", ["/etc/libvirt/qemu", "/run/libvirt/qemu"])
def test_a_disk_is_named_by_its_domain_target_and_source(fake_host: FakeHost, folder: str) -> None:
    wanted = [DomainDisk("web12", UUID, "vda", "/dev/vg0/web12", "raw")]
    assert disks(fake_host, DISK, folder=folder) == wanted


@pytest.mark.parametrize("document", [b"", b"<domain", b"<network/>", b"\xff"])
def test_a_broken_domain_file_names_nothing(fake_host: FakeHost, document: bytes) -> None:
    fake_host.save("/etc/libvirt/qemu/web12.xml", document)
    fake_host.save("/etc/libvirt/storage/vg0.xml", document)
    assert list(libvirt.disks(fake_host)) == []


@pytest.mark.parametrize(
    ("disk", "image"),
    [
        ("<driver type='qcow2'/><source dev='/dev/vg0/a'/>", "qcow2"),
        ("<driver type='raw'/><source dev='/dev/vg0/a'><encryption format='luks'/></source>",
         "luks"),
        ("<driver type='raw'/><encryption format='luks'/><source dev='/dev/vg0/a'/>", "luks"),
        ("<driver type='raw'/><source dev='/dev/vg0/a'><slices/></source>", "slice"),
        ("<driver name='qemu'/><source dev='/dev/vg0/a'/>", ""),
        ("<driver type='; rm'/><source dev='/dev/vg0/a'/>", ""),
        ("<source dev='/dev/vg0/a'/>", ""),
    ],
)  # fmt: skip
def test_only_what_is_called_raw_is_raw(fake_host: FakeHost, disk: str, image: str) -> None:
    assert [each.format for each in disks(fake_host, disk)] == [image]


def test_what_lies_below_a_snapshot_is_its_domains_too(fake_host: FakeHost) -> None:
    """As libvirt 9.0.0 writes it, also of a domain that is off."""
    lowest = "<backingStore type='block'><format type='raw'/><source dev='/dev/vg0/web12'/>"
    disk = (
        "<driver name='qemu' type='qcow2'/><source file='/tmp/second.qcow2'/>"
        "<backingStore type='file'><format type='qcow2'/><source file='/tmp/first.qcow2'/>"
        f"{lowest}<backingStore/></backingStore></backingStore><target dev='vda'/>"
    )
    found = [(each.target, each.path, each.format) for each in disks(fake_host, disk)]
    assert found == [
        ("vda", "/tmp/second.qcow2", "qcow2"),
        ("vda", "/tmp/first.qcow2", "backing"),
        ("vda", "/dev/vg0/web12", "backing"),
    ]


@pytest.mark.parametrize("uuid", ["12", "", "$(id)", UUID.upper().replace("0", "A")])
def test_what_is_no_uuid_is_none(fake_host: FakeHost, uuid: str) -> None:
    assert [each.uuid for each in disks(fake_host, DISK, uuid)] == [""]


@pytest.mark.parametrize("folder", libvirt.POOLS)
def test_a_disk_from_a_storage_pool_lies_in_its_folder(fake_host: FakeHost, folder: str) -> None:
    pool = "<pool type='logical'><name>fast</name><target><path>/dev/vg0</path></target></pool>"
    if folder.startswith("/run/"):
        pool = f"<poolstate>{pool}</poolstate>"
    fake_host.save(f"{folder}/fast.xml", pool.encode())
    source = "<driver type='raw'/><source pool='fast' volume='web12'/><target dev='vdb'/>"
    assert [each.path for each in disks(fake_host, source)] == ["/dev/vg0/web12"]
    elsewhere = "<source pool='slow' volume='web12'/>"
    assert disks(fake_host, elsewhere) == []

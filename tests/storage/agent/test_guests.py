"""Guests as QEMU, libvirt, Proxmox and Xen name them."""

from __future__ import annotations

import pytest

from storage.agent import guests
from storage.agent.guests import Guest

LIBVIRT = b"""<domain type='kvm'><name>web12</name><devices>
<disk type='block'><source dev='/dev/vg0/web12'/><target dev='vda'/></disk>
<disk type='file' device='cdrom'><target dev='sda'/></disk></devices></domain>"""

STORAGE = """dir: local
\tpath /var/lib/vz

lvm: fast
\tvgname vg0
\tcontent images

lvmthin: thin
\tthinpool data
\tvgname pve
"""

PROXMOX = """boot: order=scsi0
name: web12
scsi0: fast:vm-101-disk-0,size=32G
virtio1: /dev/vg0/extra,backup=0
ide2: none,media=cdrom
unused0: thin:vm-101-disk-9

[before-upgrade]
scsi0: fast:vm-101-old,size=32G
"""

XEN = """name = "web12"
disk = [ 'phy:/dev/vg0/web12,xvda,w', "format=raw, vdev=xvdb, target=/dev/vg0/swap" ]
"""


def test_libvirt_names_a_disk_by_its_source_and_target() -> None:
    wanted = [Guest("libvirt", "web12", "vda", "/dev/vg0/web12")]
    assert list(guests.libvirt(LIBVIRT)) == wanted
    assert list(guests.libvirt(b"<domstatus>" + LIBVIRT + b"</domstatus>")) == wanted


@pytest.mark.parametrize("document", [b"", b"<domain", b"<network/>", b"\xff"])
def test_a_broken_domain_file_names_nothing(document: bytes) -> None:
    assert list(guests.libvirt(document)) == []


def test_proxmox_storages_lead_to_volume_groups_and_snapshots_do_not_count() -> None:
    storages = guests.proxmox_storages(STORAGE)
    assert storages == {"fast": "vg0", "thin": "pve"}
    assert list(guests.proxmox("101", PROXMOX, storages)) == [
        Guest("proxmox", "web12", "scsi0", "/dev/vg0/vm-101-disk-0"),
        Guest("proxmox", "web12", "virtio1", "/dev/vg0/extra"),
        Guest("proxmox", "web12", "unused0", "/dev/pve/vm-101-disk-9"),
    ]


def test_a_xen_configuration_names_its_devices() -> None:
    assert list(guests.xen_config(XEN)) == [
        Guest("xen", "web12", "xvda", "/dev/vg0/web12"),
        Guest("xen", "web12", "", "/dev/vg0/swap"),
    ]


@pytest.mark.parametrize(
    ("number", "disk"), [(51712, "xvda"), (51728, "xvdb"), (1 << 28 | 26 << 8, "xvdaa"), (768, "")]
)
def test_a_xen_device_number_is_a_disk_name(number: int, disk: str) -> None:
    assert guests.xen_disk(number) == disk


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["qemu", "-name", "web12"], "web12"),
        (["qemu", "-name", "guest=web12,debug-threads=on"], "web12"),
        (["qemu", "-name", "a,,b,process=x"], "a,b"),
        (["qemu", "-m", "16"], None),
    ],
)
def test_qemus_name_option_has_two_forms(words: list[str], name: str | None) -> None:
    assert guests.qemu_name(words) == name


def test_qemus_virtio_drives_are_counted_in_order() -> None:
    words = ["qemu", "-drive", "file=/dev/vg0/cd,if=ide", "-drive", "file=/dev/vg0/a,if=virtio"]
    words += ["-drive", "file=/dev/vg0/b,if=virtio,format=raw"]
    assert guests.qemu_disks(words) == (
        ("/dev/vg0/cd", ""),
        ("/dev/vg0/a", "vda"),
        ("/dev/vg0/b", "vdb"),
    )


def test_libvirts_block_nodes_are_followed_to_their_device() -> None:
    words = [
        "qemu-system-x86_64",
        "-blockdev",
        '{"driver":"host_device","filename":"/dev/vg0/a","node-name":"libvirt-1-storage"}',
        "-blockdev",
        '{"node-name":"libvirt-1-format","driver":"raw","file":"libvirt-1-storage"}',
        "-device",
        '{"driver":"virtio-blk-pci","drive":"libvirt-1-format","id":"virtio-disk0"}',
    ]
    assert ("/dev/vg0/a", "vda") in guests.qemu_disks(words)


def test_nonsense_on_a_command_line_names_nothing() -> None:
    words = ["qemu", "-blockdev", "{", "-drive", ",,=,", "-device", "virtio-blk,drive=none"]
    assert guests.qemu_disks(words) == ()

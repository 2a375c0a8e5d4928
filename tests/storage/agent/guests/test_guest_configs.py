"""Guests as QEMU, libvirt, Proxmox and Xen name them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from storage.agent.guests import guest_configs
from storage.agent.guests.guest_configs import Drive, Guest

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


def test_proxmox_storages_lead_to_volume_groups_and_what_a_snapshot_names_counts_too() -> None:
    storages = guest_configs.proxmox_storages(STORAGE)
    assert storages == {"fast": "vg0", "thin": "pve"}
    assert list(guest_configs.proxmox("101", PROXMOX, storages)) == [
        Guest("proxmox", "web12", "scsi0", "/dev/vg0/vm-101-disk-0", format="raw"),
        Guest("proxmox", "web12", "virtio1", "/dev/vg0/extra", format="raw"),
        Guest("proxmox", "web12", "unused0", "/dev/pve/vm-101-disk-9", format="raw"),
        Guest("proxmox", "web12", "scsi0", "/dev/vg0/vm-101-old", format="raw"),
    ]


@pytest.mark.parametrize(
    ("volume", "image"),
    [
        ("fast:vm-101-disk-0.qcow2,size=32G", "qcow2"),
        ("fast:vm-101-disk-0,format=qcow2,size=32G", "qcow2"),
        ("fast:vm-101-disk-0,size=32G", "raw"),
    ],
)
def test_proxmox_says_which_image_an_lv_holds(volume: str, image: str) -> None:
    (guest,) = guest_configs.proxmox("101", f"scsi0: {volume}\n", {"fast": "vg0"})
    assert guest.format == image


def test_a_xen_configuration_names_its_devices() -> None:
    assert list(guest_configs.xen_config(XEN)) == [
        Guest("xen", "web12", "xvda", "/dev/vg0/web12"),
        Guest("xen", "web12", "xvdb", "/dev/vg0/swap"),
    ]


@pytest.mark.parametrize(
    ("number", "disk"), [(51712, "xvda"), (51728, "xvdb"), (1 << 28 | 26 << 8, "xvdaa"), (768, "")]
)
def test_a_xen_device_number_is_a_disk_name(number: int, disk: str) -> None:
    assert guest_configs.xen_disk(number) == disk


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
    assert guest_configs.qemu_name(words) == name


def test_qemus_virtio_drives_are_counted_in_order() -> None:
    words = ["qemu", "-drive", "file=/dev/vg0/cd,if=ide", "-drive", "file=/dev/vg0/a,if=virtio"]
    words += ["-drive", "file=/dev/vg0/b,if=virtio,format=raw"]
    assert guest_configs.qemu_disks(words) == (
        Drive("/dev/vg0/cd", "", ""),
        Drive("/dev/vg0/a", "vda", ""),
        Drive("/dev/vg0/b", "vdb", "raw"),
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
    assert Drive("/dev/vg0/a", "vda", "raw") in guest_configs.qemu_disks(words)


BELOW = {"driver": "host_device", "filename": "/dev/vg0/a", "node-name": "e0"}


@pytest.mark.parametrize(
    ("node", "image"),
    [
        (BELOW, "raw"),
        ({"driver": "raw", "file": BELOW}, "raw"),
        ({"driver": "throttle", "file": {"driver": "raw", "file": BELOW}}, "raw"),
        ({"driver": "throttle", "file": {"driver": "qcow2", "file": BELOW}}, "qcow2"),
        ({"driver": "luks", "file": BELOW}, "luks"),
        ({"driver": "raw", "offset": 1048576, "file": BELOW}, "slice"),
        ({"driver": "raw", "file": {"driver": "luks", "file": BELOW}}, "luks"),
        ({"file": BELOW}, ""),
    ],
)
def test_a_block_node_says_what_is_written_on_the_device(node: dict[str, Any], image: str) -> None:
    """Proxmox VE 9 nests them, with a throttle on top."""
    words = ["qemu", "-blockdev", json.dumps({"node-name": "drive-scsi0", **node})]
    assert ("/dev/vg0/a", image) in [
        (each.path, each.format) for each in guest_configs.qemu_disks(words)
    ]


def test_nodes_within_nodes_without_end_name_nothing() -> None:
    deep = '{"driver":"raw","file":' * 300 + "{}" + "}" * 300
    assert guest_configs.qemu_disks(["qemu", "-blockdev", deep]) == ()


def test_nonsense_on_a_command_line_names_nothing() -> None:
    words = ["qemu", "-blockdev", "{", "-drive", ",,=,", "-device", "virtio-blk,drive=none"]
    assert guest_configs.qemu_disks(words) == ()


@pytest.mark.parametrize(
    ("words", "uuid"),
    [
        (["-uuid", "00000000-0000-4000-8000-000000000001"], "00000000-0000-4000-8000-000000000001"),
        (["-uuid", "42"], ""),
        (["-uuid"], ""),
    ],
)
def test_qemus_uuid_is_libvirts_name_of_the_domain(words: list[str], uuid: str) -> None:
    assert guest_configs.qemu_uuid(["qemu", *words]) == uuid

"""Ready lines that give a volume to a guest by its stable path. Pure text: people run them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

FOLDER: Final = "/dev/tiercel"


@dataclass(frozen=True, slots=True)
class GuestLine:
    """`key` is fit for an id; `note` says where the line belongs and what to put in."""

    key: str
    title: str
    text: str
    note: str


def stable_path(volume_key: str) -> str:
    """The path that leads to the volume whatever its number is, cached or not."""
    return f"{FOLDER}/{volume_key}"


def guest_lines(volume_key: str) -> tuple[GuestLine, ...]:
    """For Xen, libvirt and Proxmox. The host's page cache stays out of the way everywhere: it would
    hide the SSD's gain and keep writes that the guest takes for safe."""
    path = stable_path(volume_key)
    return (
        GuestLine(
            "xl",
            "Xen (xl)",
            f"disk = [ 'format=raw, vdev=xvdb, access=rw, target={path}' ]",
            "Add to the guest's configuration file. Choose a free vdev.",
        ),
        GuestLine(
            "libvirt",
            "libvirt",
            "<disk type='block' device='disk'>\n"
            "  <driver name='qemu' type='raw' cache='none' io='native' discard='unmap'/>\n"
            f"  <source dev='{path}'/>\n"
            "  <target dev='vdb' bus='virtio'/>\n"
            "</disk>",
            "Add to <devices> with virsh edit. Choose a free target.",
        ),
        GuestLine(
            "proxmox",
            "Proxmox VE",
            f"qm set VMID --scsi1 {path},cache=none,aio=native,discard=on",
            "Replace VMID with the guest's number. Choose a free scsi number.",
        ),
    )

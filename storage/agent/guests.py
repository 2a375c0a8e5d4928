"""Guests that a machine's configuration names, running or not, with the devices they use.

Every reader is tolerant: these files are written by other programs and by people. Each yields
`Guest`s; which volume a path means is decided by the caller, by device number.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .dm import text
from .host import Host, MissingTool, TimedOut

LIBVIRT = ("/etc/libvirt/qemu", "/run/libvirt/qemu", "/etc/libvirt/libxl", "/run/libvirt/libxl")
PROXMOX = ("/etc/pve/qemu-server", "/etc/pve/lxc")
_PROXMOX_DISK = re.compile(r"((?:virtio|scsi|sata|ide|efidisk|tpmstate|mp|unused)\d+|rootfs): (.+)")


@dataclass(frozen=True)
class Guest:
    """A guest's disk. `path` is a device path as configured, or `device` its "MAJOR:MINOR"."""

    kind: str
    name: str
    disk: str
    path: str = ""
    device: str = ""


def configured(host: Host) -> Iterator[Guest]:
    for folder in LIBVIRT:
        for name in host.list(folder):
            if name.endswith(".xml"):
                yield from libvirt(host.read(f"{folder}/{name}") or b"")
    storages = proxmox_storages(text(host, "/etc/pve/storage.cfg"))
    for folder in PROXMOX:
        for name in host.list(folder):
            if name.endswith(".conf"):
                vmid = name[: -len(".conf")]
                yield from proxmox(vmid, text(host, f"{folder}/{name}"), storages)
    for name in host.list("/etc/xen"):
        if name.endswith(".cfg"):
            yield from xen_config(text(host, f"/etc/xen/{name}"))
    yield from xen_running(host)


def libvirt(document: bytes) -> Iterator[Guest]:
    """A domain's XML; a status file of a running one wraps it in <domstatus>."""
    try:
        root = ElementTree.fromstring(document)  # noqa: S314 (root's own files)
    except ElementTree.ParseError:
        return
    domain = root if root.tag == "domain" else root.find("domain")
    if domain is None:
        return
    name = domain.findtext("name") or ""
    for disk in domain.iterfind("./devices/disk"):
        source, target = disk.find("source"), disk.find("target")
        path = "" if source is None else source.get("dev") or source.get("file") or ""
        if path:
            yield Guest("libvirt", name, "" if target is None else target.get("dev") or "", path)


def proxmox_storages(config: str) -> Mapping[str, str]:
    """storage.cfg: storage name -> VG."""
    found: dict[str, str] = {}
    storage = ""
    for line in config.splitlines():
        head = re.fullmatch(r"lvm(?:thin)?: (\S+)", line.rstrip())
        if head:
            storage = head.group(1)
        elif line[:1] not in (" ", "\t"):
            storage = ""
        else:
            word, _, value = line.strip().partition(" ")
            if word == "vgname" and storage:
                found[storage] = value.strip()
    return found


def proxmox(vmid: str, config: str, storages: Mapping[str, str]) -> Iterator[Guest]:
    """A guest's own section; snapshots follow below in [brackets]."""
    own = re.split(r"(?m)^\[", config, maxsplit=1)[0]
    names = re.findall(r"(?m)^(?:name|hostname): (\S+)", own)
    for line in own.splitlines():
        match = _PROXMOX_DISK.fullmatch(line.strip())
        if match is None:
            continue
        volume = match.group(2).split(",", 1)[0]
        storage, _, lv = volume.partition(":")
        path = volume if volume.startswith("/dev/") else ""
        if storage in storages and lv:
            path = f"/dev/{storages[storage]}/{lv}"
        if path:
            yield Guest("proxmox", names[0] if names else vmid, match.group(1), path)


def xen_config(config: str) -> Iterator[Guest]:
    """An xl.cfg: its name and every device path quoted in it."""
    name = re.search(r"(?m)^\s*name\s*=\s*[\"']([^\"']+)", config)
    for entry in re.findall(r"[\"']([^\"']*/dev/[^\"']+)[\"']", config):
        fields = [field.strip() for field in entry.split(",")]
        path = next(field[field.index("/dev/") :] for field in fields if "/dev/" in field)
        disk = next((field for field in fields if re.fullmatch(r"(xvd|hd|sd)[a-z]+\d*", field)), "")
        yield Guest("xen", name.group(1) if name else "", disk, path)


def xen_running(host: Host) -> Iterator[Guest]:
    """blkback: /sys/bus/xen-backend/devices/vbd-DOMID-DEVID/physical_device is hex "fd:4"."""
    here = "/sys/bus/xen-backend/devices"
    for entry in host.list(here):
        match = re.fullmatch(r"vbd-(\d+)-(\d+)", entry)
        major, colon, minor = text(host, f"{here}/{entry}/physical_device").partition(":")
        if match is None or not colon:
            continue
        try:
            device = f"{int(major, 16)}:{int(minor, 16)}"
        except ValueError:
            continue
        domain = match.group(1)
        yield Guest("xen", _xen_name(host, domain), xen_disk(int(match.group(2))), device=device)


def xen_disk(number: int) -> str:
    """Xen's virtual device number as xvdX (xen-vbd-interface(7))."""
    if number & 1 << 28:
        index = number >> 8 & 0xFFFFF
    elif number >> 8 == 202:
        index = (number & 0xFF) >> 4
    else:
        return ""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return "xvd" + letters


def _xen_name(host: Host, domain: str) -> str:
    try:
        result = host.run(("xenstore-read", f"/local/domain/{domain}/name"), timeout=5.0)
    except (MissingTool, TimedOut):
        return f"domain {domain}"
    return result.stdout.strip() if result.rc == 0 else f"domain {domain}"


def qemu_name(words: Sequence[str]) -> str | None:
    """Name after `-name` of a QEMU command line: "web12", "guest=web12,debug-threads=on"."""
    for word, value in zip(words, words[1:]):
        if word in ("-name", "--name"):
            first = value.replace(",,", "\0").split(",", 1)[0].replace("\0", ",")
            return first[len("guest=") :] if first.startswith("guest=") else first
    return None


def qemu_disks(words: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """(path, disk) of each drive of a QEMU command line; disk is vdX for virtio-blk, else ""."""
    nodes: dict[str, str] = {}
    drives: list[tuple[str, str]] = []
    devices: list[str] = []
    for word, value in zip(words, words[1:]):
        option = word.lstrip("-")
        if option == "drive":
            fields = _fields(value)
            path = fields.get("file", "")
            if fields.get("if", "ide") == "none":
                nodes[fields.get("id", "")] = path
            else:
                drives.append((path, fields.get("if", "ide")))
        elif option == "blockdev":
            _node(value, nodes)
        elif option == "device":
            fields = _fields(value)
            if value.startswith("virtio-blk") or fields.get("driver", "").startswith("virtio-blk"):
                devices.append(fields.get("drive", ""))
    virtio = [path for path, interface in drives if interface == "virtio"]
    virtio += [nodes.get(node, "") for node in devices]
    named = {path: f"vd{chr(ord('a') + at)}" for at, path in enumerate(virtio[:26]) if path}
    every = [path for path, _ in drives] + list(nodes.values())
    return tuple((path, named.get(path, "")) for path in every if path)


def _fields(value: str) -> dict[str, str]:
    """ "file=/dev/vg/a,if=virtio" with QEMU's ",," for a comma; or the same as JSON."""
    if value.startswith("{"):
        return {key: item for key, item in _json(value).items() if isinstance(item, str)}
    parts = [part.replace("\0", ",") for part in value.replace(",,", "\0").split(",")]
    return dict(part.split("=", 1) for part in parts if "=" in part)


def _node(value: str, nodes: dict[str, str]) -> None:
    """A -blockdev: a node has a file name, or stands on another node (`file`)."""
    document = _json(value) if value.startswith("{") else dict(_fields(value))
    name, path = document.get("node-name"), document.get("filename")
    inner = document.get("file")
    if isinstance(inner, dict):
        path = inner.get("filename")
    elif isinstance(inner, str):
        path = nodes.get(inner)
    path = path or document.get("file.filename")
    if isinstance(name, str) and isinstance(path, str):
        nodes[name] = path


def _json(value: str) -> dict[str, object]:
    try:
        document = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}

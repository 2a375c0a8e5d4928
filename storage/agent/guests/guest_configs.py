"""Guests named in configuration files, running or not, with the devices they use.

Every reader is tolerant: other programs and people write these files. Each yields `Guest`s; the
caller decides by device number which volume a path means. The format of an image is "" if it is
unknown: only an image that is called raw is the device itself.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..calls import names
from ..kernel.dm import text
from ..kernel.local_host import LocalHost, MissingTool, TimedOut
from . import libvirt

# Block drivers of QEMU that change nothing of what they stand on; a job puts in the last three.
FILTERS = frozenset(("throttle", "copy-on-read", "copy-before-write", "mirror_top", "commit_top"))
PROTOCOLS = frozenset(("host_device", "file"))
NODES_LIMIT = 16
PROXMOX = ("/etc/pve/qemu-server", "/etc/pve/lxc")
XEN = ("/etc/xen", "/etc/xen/auto", "/etc/xen/vm")
LXC = "/var/lib/lxc"
_PROXMOX_LINE = re.compile(r"([a-z][\w.]*): *(.+)")
_DEVICE_PATH = re.compile(r"/dev/[^\s,;'\"\\]+")
# xl-disk-configuration(5): these prefixes say how a target is read, as old guides still write it.
_XEN_PREFIX = re.compile(r"^(?:(?:phy|file|aio|raw|qcow2?|vhd|qed|tap2?|tapdisk|qdisk):)*")
_XEN_DISK = re.compile(r"(?:xvd|hd|sd)[a-z]+\d*")


@dataclass(frozen=True)
class Guest:
    """A guest's disk. `path` is a device path as configured, or `device` its "MAJOR:MINOR";
    `domain` is libvirt's UUID of the guest."""

    kind: str
    name: str
    disk: str
    path: str = ""
    device: str = ""
    format: str = ""
    domain: str = ""


@dataclass(frozen=True)
class Drive:
    """A disk of a QEMU command line; `disk` is vdX for virtio-blk, else ""."""

    path: str
    disk: str
    format: str


def configured(host: LocalHost) -> Iterator[Guest]:
    for each in libvirt.disks(host):
        yield Guest(
            "libvirt", each.name, each.target, each.path, format=each.format, domain=each.uuid
        )
    storages = proxmox_storages(text(host, "/etc/pve/storage.cfg"))
    for folder in PROXMOX:
        for name in host.list(folder):
            if name.endswith(".conf"):
                vmid = name[: -len(".conf")]
                yield from proxmox(vmid, text(host, f"{folder}/{name}"), storages)
    for folder in XEN:
        for name in host.list(folder):
            yield from xen_config(text(host, f"{folder}/{name}"))
    yield from xen_running(host)
    for name in host.list(LXC):
        yield from lxc(name, text(host, f"{LXC}/{name}/config"))


def proxmox_storages(config: str) -> Mapping[str, str]:
    """storage.cfg: storage name -> VG, of whatever type has one."""
    storages: dict[str, str] = {}
    storage = ""
    for line in config.splitlines():
        head = re.fullmatch(r"[\w-]+:\s*(\S+)", line.rstrip())
        if head:
            storage = head.group(1)
        elif line[:1] not in (" ", "\t"):
            storage = ""
        else:
            word, *values = line.split(None, 1)
            if word == "vgname" and storage and values:
                storages[storage] = values[0].strip()
    return storages


_YES = frozenset(("1", "on", "yes", "true"))


def proxmox_shared(config: str) -> frozenset[str]:
    """VGs of storage.cfg that all nodes of the cluster use."""
    shared: set[str] = set()
    for section in re.split(r"(?m)^(?=\S)", config):
        head, *lines = section.splitlines() or [""]
        words = dict(line.split(None, 1) for line in lines if len(line.split()) > 1)
        if re.match(r"[\w-]+:", head) and words.get("shared", "").strip().lower() in _YES:
            shared.add(words.get("vgname", "").strip())
    return frozenset(shared - {""})


def proxmox(vmid: str, config: str, storages: Mapping[str, str]) -> Iterator[Guest]:
    """Every volume that a guest's file names, whatever the key: a disk, the memory of a suspended
    guest, an argument for QEMU; also in a snapshot or a change that waits, which stand below in
    [brackets]."""
    named = re.search(r"(?m)^(?:name|hostname): *(\S+)", config)
    name = named[1] if named else vmid
    for line in config.splitlines():
        match = _PROXMOX_LINE.fullmatch(line.strip())
        if match is None or match.group(1) == "description":
            continue
        key, value = match.groups()
        drives = qemu_disks(_words(value)) if key == "args" else ()
        formats = {drive.path: drive.format for drive in drives}
        for path in _proxmox_paths(value, storages):
            known = "" if key == "args" else _proxmox_format(path, value)
            yield Guest("proxmox", name, key, path, format=formats.get(path, known))


def _proxmox_paths(value: str, storages: Mapping[str, str]) -> Iterator[str]:
    """ "local-lvm:vm-100-disk-0,size=8G", "volume=local-lvm:…,mp=/data", "/dev/vg/lv mnt none"."""
    for word in re.split(r"[\s,]+", value):
        storage, colon, lv = word.rpartition("=")[2].partition(":")
        if colon and lv and storage in storages:
            yield f"/dev/{storages[storage]}/{lv}"
    yield from _DEVICE_PATH.findall(value)


def _words(value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError:
        return value.split()


def _proxmox_format(path: str, options: str) -> str:
    """As the option says, else by the name: LVM storages hold raw images, or NAME.qcow2."""
    match = re.search(r",format=([a-z0-9]+)(?:,|$)", options)
    if match:
        return match.group(1)
    return "qcow2" if path.endswith(".qcow2") else "raw"


def lxc(name: str, config: str) -> Iterator[Guest]:
    """Every device that a container's file names: "lxc.rootfs.path = lvm:/dev/vg/lv"."""
    for line in _uncommented(config).splitlines():
        for path in _DEVICE_PATH.findall(line):
            yield Guest("lxc", name, "", path)


def _uncommented(config: str) -> str:
    return re.sub(r"(?m)^[ \t]*#.*$", "", config)


def xen_config(config: str) -> Iterator[Guest]:
    """An xl.cfg: its name, the target of each disk, and every device path quoted in it."""
    config = _uncommented(config)
    name = re.search(r"(?m)^\s*name\s*=\s*[\"']([^\"']+)", config)
    guest = name.group(1) if name else ""
    disks = " ".join(re.findall(r"(?ms)^\s*disk\s*=\s*\[(.*?)\]\s*(?:#[^\n]*)?$", config))
    for entry in re.findall(r"[\"']([^\"'\n]+)[\"']", disks):
        path, disk = _xen_disk(entry)
        if path:
            yield Guest("xen", guest, disk, path)
    for entry in re.findall(r"[\"']([^\"']*/dev/[^\"']+)[\"']", config.replace(disks, "")):
        for path in _DEVICE_PATH.findall(entry):
            yield Guest("xen", guest, "", path)


def _xen_disk(entry: str) -> tuple[str, str]:
    """The path and the guest's name of a disk; "/dev" stands before a target without a slash at its
    beginning (xl-disk-configuration(5)). `target=` takes all that follows."""
    head, named, rest = entry.partition("target=")
    fields = [field.strip() for field in (head if named else entry).split(",")]
    keyed = dict(field.split("=", 1) for field in fields if "=" in field)
    target = _XEN_PREFIX.sub("", (rest if named else fields[0]).strip())
    disk = keyed.get("vdev") or next(
        (field for field in fields if _XEN_DISK.fullmatch(field.partition(":")[0])), ""
    )
    if not target or (not named and "=" in fields[0]):
        return "", disk
    return (target if target.startswith("/") else f"/dev/{target}"), disk


def xen_running(host: LocalHost) -> Iterator[Guest]:
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


def _xen_name(host: LocalHost, domain: str) -> str:
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


def qemu_uuid(words: Sequence[str]) -> str:
    """UUID after `-uuid` of a QEMU command line, as libvirt gives it; "" where there is none."""
    for word, value in zip(words, words[1:]):
        if word in ("-uuid", "--uuid"):
            try:
                return names.uuid(value)
            except ValueError:
                return ""
    return ""


def qemu_disks(words: Sequence[str]) -> tuple[Drive, ...]:
    """Each drive of a QEMU command line."""
    nodes: dict[str, _Image] = {}
    drives: list[tuple[_Image, str]] = []
    devices: list[str] = []
    for word, value in zip(words, words[1:]):
        option = word.lstrip("-")
        if option == "drive":
            fields = _fields(value)
            image = _Image(fields.get("file", ""), fields.get("format", fields.get("driver", "")))
            if fields.get("if", "ide") == "none":
                nodes[fields.get("id", "")] = image
            else:
                drives.append((image, fields.get("if", "ide")))
        elif option == "blockdev":
            document = _json(value) if value.startswith("{") else dict(_fields(value))
            _node(document, nodes)
        elif option == "device":
            fields = _fields(value)
            if value.startswith("virtio-blk") or fields.get("driver", "").startswith("virtio-blk"):
                devices.append(fields.get("drive", ""))
    virtio = [image.path for image, interface in drives if interface == "virtio"]
    virtio += [nodes[node].path if node in nodes else "" for node in devices]
    named = {path: f"vd{chr(ord('a') + at)}" for at, path in enumerate(virtio[:26]) if path}
    every = [image for image, _ in drives] + list(nodes.values())
    return tuple(
        Drive(each.path, named.get(each.path, ""), each.format) for each in every if each.path
    )


def node(document: str) -> Drive:
    """What a block node given as JSON stands on."""
    image = _node(_json(document), {})
    return Drive(image.path, "", image.format)


def _fields(value: str) -> dict[str, str]:
    """ "file=/dev/vg/a,if=virtio" with QEMU's ",," for a comma; or the same as JSON."""
    if value.startswith("{"):
        return {key: item for key, item in _json(value).items() if isinstance(item, str)}
    parts = [part.replace("\0", ",") for part in value.replace(",,", "\0").split(",")]
    return dict(part.split("=", 1) for part in parts if "=" in part)


@dataclass(frozen=True)
class _Image:
    path: str
    format: str


def _node(
    document: Mapping[str, object], nodes: dict[str, _Image], depth: int = NODES_LIMIT
) -> _Image:
    """The image of a -blockdev, which is noted under its name: it has a file name, or stands on
    another node (`file`)."""
    inner = document.get("file")
    path = document.get("filename") or document.get("file.filename")
    if isinstance(inner, dict) and depth:
        below = _node(inner, nodes, depth - 1)
    elif isinstance(inner, str):
        below = nodes.get(inner, _Image("", ""))
    else:
        below = _Image(path if isinstance(path, str) else "", "raw")
    image = _Image(below.path, image_format(document, below.format))
    name = document.get("node-name")
    if isinstance(name, str):
        nodes[name] = image
    return image


def image_format(document: Mapping[str, object], below: str) -> str:
    """What a block node makes of the node below it."""
    driver = document.get("driver")
    if not isinstance(driver, str):
        return ""
    if driver in FILTERS or driver in PROTOCOLS:
        return below
    if driver != "raw":
        return driver
    return "slice" if "offset" in document or "size" in document else below


def _json(value: str) -> dict[str, object]:
    try:
        document = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}

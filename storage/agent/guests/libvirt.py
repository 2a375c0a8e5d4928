"""Disks of libvirt's domains, running or not, from libvirt's XML files."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..calls import names
from ..kernel.local_host import LocalHost

DOMAINS = tuple(
    f"{folder}/libvirt/{driver}"
    for folder in ("/etc", "/run")
    for driver in ("qemu", "libxl", "lxc")
)
POOLS = ("/etc/libvirt/storage", "/run/libvirt/storage")
_DEVICE_PATH = re.compile(r"/dev/[^\s,;'\"\\]+")
# The format of what lies below a snapshot: the guest's disk is what stands on it.
BACKING = "backing"


@dataclass(frozen=True)
class DomainDisk:
    """`uuid` is the domain's, "" where the file has none; `format` "" where it says none."""

    name: str
    uuid: str
    target: str
    path: str
    format: str


def disks(host: LocalHost) -> Iterator[DomainDisk]:
    """Of every domain. What a running one has comes after what it will have at its next start."""
    pools = dict(_pool(document) for folder in POOLS for document in _documents(host, folder))
    for folder in DOMAINS:
        for document in _documents(host, folder):
            yield from _domain(document, pools)


def _documents(host: LocalHost, folder: str) -> Iterator[ElementTree.Element]:
    for name in host.list(folder):
        root = _parsed(host.read(f"{folder}/{name}") or b"") if name.endswith(".xml") else None
        if root is not None:
            yield root


def _parsed(document: bytes) -> ElementTree.Element | None:
    try:
        return ElementTree.fromstring(document)  # noqa: S314 (root's own files)
    except ElementTree.ParseError:
        return None


def _pool(root: ElementTree.Element) -> tuple[str, str]:
    pool = root if root.tag == "pool" else root.find("pool")
    if pool is None:
        return "", ""
    return pool.findtext("name") or "", pool.findtext("target/path") or ""


def _domain(root: ElementTree.Element, pools: Mapping[str, str]) -> Iterator[DomainDisk]:
    domain = root if root.tag == "domain" else root.find("domain")
    if domain is None:
        return
    name = domain.findtext("name") or ""
    try:
        uuid = names.uuid((domain.findtext("uuid") or "").strip())
    except ValueError:
        uuid = ""
    known: set[str] = set()
    for disk in domain.iterfind("./devices/disk"):
        source, target = disk.find("source"), disk.find("target")
        path = "" if source is None else _path(source, pools)
        where = "" if target is None else target.get("dev") or ""
        if path:
            known.add(path)
            yield DomainDisk(name, uuid, where, path, _format(disk))
        for below in disk.iterfind(".//backingStore/source"):
            path = _path(below, pools)
            if path:
                known.add(path)
                yield DomainDisk(name, uuid, where, path, BACKING)
    # Whatever else names a device: an argument for QEMU, a mirror, the file system of a container.
    for element in domain.iter():
        for value in (element.text or "", *element.attrib.values()):
            for path in _DEVICE_PATH.findall(value):
                if path not in known:
                    known.add(path)
                    yield DomainDisk(name, uuid, "", path, "")


def _path(source: ElementTree.Element, pools: Mapping[str, str]) -> str:
    folder = pools.get(source.get("pool") or "", "")
    volume = source.get("volume") or ""
    if folder and volume:
        return f"{folder}/{volume}"
    return source.get("dev") or source.get("file") or ""


def _format(disk: ElementTree.Element) -> str:
    """What is between the guest and the path: raw only where that is the whole device as it is."""
    driver = disk.find("driver")
    try:
        image = names.image_format("" if driver is None else driver.get("type"))
    except ValueError:
        return ""
    if image != "raw":
        return image
    if disk.find("encryption") is not None or disk.find("source/encryption") is not None:
        return "luks"
    return "slice" if disk.find("source/slices") is not None else "raw"

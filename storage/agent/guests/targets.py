"""Users of block devices other than processes and guests: the kernel's own exports, and what this
machine's configuration mounts, unlocks, mirrors or exports at its next start.

Every reader is tolerant, like those of guests' configurations: each yields (kind, name, path).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ..kernel.dm import text
from ..kernel.local_host import LocalHost
from ..kernel.paths import unescaped

Use = tuple[str, str, str]

NVMET = "/sys/kernel/config/nvmet/subsystems"
LIO = "/sys/kernel/config/target/core"
RNBD = "/sys/class/rnbd-server/ctl/devices"
DRBD = "/etc/drbd.d"
_TAGS = {
    "UUID": "uuid",
    "LABEL": "label",
    "PARTUUID": "partuuid",
    "PARTLABEL": "partlabel",
    "ID": "id",
}
NESTED_LIMIT = 24


def guest_uses(host: LocalHost) -> Iterator[Use]:
    yield from _nvmet(host)
    yield from _lio(host)
    yield from _rnbd(host)
    yield from _tables(host)
    yield from _drbd(host)
    yield from _saved(host, "lio", "/etc/target/saveconfig.json", "dev")
    yield from _saved(host, "nvmet", "/etc/nvmet/config.json", "path")


def _nvmet(host: LocalHost) -> Iterator[Use]:
    for subsystem in host.list(NVMET):
        for number in host.list(f"{NVMET}/{subsystem}/namespaces"):
            path = text(host, f"{NVMET}/{subsystem}/namespaces/{number}/device_path")
            yield "nvmet", f"{subsystem}/{number}", path


def _lio(host: LocalHost) -> Iterator[Use]:
    for group in host.list(LIO):
        for name in host.list(f"{LIO}/{group}"):
            yield "lio", name, text(host, f"{LIO}/{group}/{name}/udev_path")


def _rnbd(host: LocalHost) -> Iterator[Use]:
    for name in host.list(RNBD):
        target = host.link(f"{RNBD}/{name}/block_dev") or ""
        yield "rnbd", name, f"/dev/{target.rsplit('/', 1)[-1]}" if target else ""


def _tables(host: LocalHost) -> Iterator[Use]:
    """fstab(5): device, mount point; crypttab(5): name, device."""
    for words in _lines(text(host, "/etc/fstab")):
        yield "fstab", unescaped(words[1]), _device(words[0])
    for words in _lines(text(host, "/etc/crypttab")):
        yield "crypttab", words[0], _device(words[1])


def _lines(table: str) -> Iterator[list[str]]:
    for line in table.splitlines():
        words = line.split()
        if len(words) > 1 and not words[0].startswith("#"):
            yield words


def _device(spec: str) -> str:
    tag, equals, value = spec.partition("=")
    if equals and tag in _TAGS:
        return f"/dev/disk/by-{_TAGS[tag]}/{value.strip(chr(34))}"
    return spec


def _drbd(host: LocalHost) -> Iterator[Use]:
    """`disk /dev/vg/lv;` of a resource; comments are left out."""
    files = [f"{DRBD}/{name}" for name in host.list(DRBD) if name.endswith(".res")]
    for file in ["/etc/drbd.conf", *files]:
        resource = ""
        for line in text(host, file).splitlines():
            plain = line.split("#", 1)[0]
            named = re.search(r"\bresource\s+\"?([^\s\"{]+)", plain)
            resource = named.group(1) if named else resource
            disk = re.search(r"\b(?:meta-)?disk\s+\"?(/dev/[^\s\";]+)", plain)
            if disk:
                yield "drbd", resource, disk.group(1)


def _saved(host: LocalHost, kind: str, file: str, key: str) -> Iterator[Use]:
    """Every path under `key` of a file that targetcli or nvmetcli saved."""
    try:
        document = json.loads(text(host, file) or "null")
    except (ValueError, RecursionError):
        return
    for path in _values(document, key, NESTED_LIMIT):
        yield kind, file, path


def _values(document: Any, key: str, depth: int) -> Iterator[str]:
    if not depth:
        return
    if isinstance(document, dict):
        value = document.get(key)
        if isinstance(value, str):
            yield value
        document = list(document.values())
    for each in document if isinstance(document, list) else ():
        yield from _values(each, key, depth - 1)

"""The machine's /proc, /sys, /dev and /etc: built from its state, walked like a file system."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Callable

from tests.fake import nodes
from tests.fake.machine import Machine
from tests.fake.parts import ModelGap

Content = Callable[[], bytes]

# Paths a machine may well lack. Anything else that is missing is a gap in the model, except below
# a device that is not there at all (any more).
MAY_BE_MISSING = re.compile(
    r"/(etc|run)/libvirt/(qemu|libxl|lxc|storage)(/.*)?|/etc/pve(/.*)?"
    r"|/etc/xen(/.*)?|/var/lib/lxc(/.*)?|/etc/tiercel/agent\.json"
    r"|/proc/version_signature|/var/lib/tiercel/fences(/.*)?"
    r"|/var/lib/tiercel/(tunables|boot|retired|owner)\.json|/run/tiercel/(fill|heat)\.json"
    r"|/var/lib/tiercel/benchmarks(/.*)?"
    r"|/var/lib/tiercel/heat(/.*)?|/run/tiercel/hot(/.*)?"
    r"|/etc/udev/rules\.d/6[19]-tiercel\.rules"
    r"|/boot|/var/lib/tiercel/initramfs(/.*)?|/etc/initramfs-tools/hooks/tiercel"
    r"|/usr/lib/dracut/modules\.d/99tiercel/module-setup\.sh|/lib/modules/[^/]+"
    r"|/etc/lvm/lvmlocal\.conf|/etc/lvm/devices(/.*)?"
    r"|/etc/systemd/system/tiercel-boot\.(service|timer)|/run/dbus/system_bus_socket"
    r"|/etc/(fstab|crypttab|drbd\.conf|drbd\.d|target/saveconfig\.json|nvmet/config\.json)"
    r"|/sys/kernel/config/(nvmet/subsystems|target/core)|/sys/class/rnbd-server/ctl/devices"
    r"|/sys/bus/xen-backend/devices(/.*)?|/sys/module/\w+(/parameters/\w+)?"
    r"|/lib/modules/[^/]+/modules\.(dep|builtin)"
    r"|/sys/fs/btrfs|/sys/class/nvme/.*"
    r"|/sys/fs/bcache(/[0-9a-f-]{36}(/.*)?)?|/sys/dev/block/-?\d+:-?\d+|/proc/\d+(/.*)?"
    r"|/sys/class/block/[^/]+|/dev/.*|\[unknown\].*"
    r"|/sys/block/[^/]*/(md(/level)?|dm/\w+|device(/model)?)"
    r"|/sys/block/[^/]*/(slaves|holders)"
    r"|/sys/(class/)?block/[^/]*/bcache(/(state|cache_mode|dev|cache|set))?"
)


# Every build of a machine's tree enters the same paths.
_split = functools.lru_cache(maxsize=1 << 17)(posixpath.split)


class Tree:
    """`files` path -> contents, `links` path -> target as stored, `devices` path -> "M:m"."""

    def __init__(self) -> None:
        self.files: dict[str, Content] = {}
        self.links: dict[str, str] = {}
        self.devices: dict[str, str] = {}
        self.folders: dict[str, set[str]] = {"/": set()}
        self._resolved: dict[str, str | None] = {}

    def file(self, path: str, content: Content | str | bytes) -> None:
        if isinstance(content, str):
            content = content.encode()
        self.files[path] = content if callable(content) else _constant(content)
        self._enter(path)

    def link(self, path: str, target: str) -> None:
        self.links[path] = target
        self._resolved.clear()
        self._enter(path)

    def device(self, path: str, dev: str) -> None:
        self.devices[path] = dev
        self._enter(path)

    def folder(self, path: str) -> None:
        if path not in self.folders:
            self.folders[path] = set()
            self._enter(path)

    def _enter(self, path: str) -> None:
        if self._resolved:
            # What was there before is where it was.
            self._resolved = {name: real for name, real in self._resolved.items() if real}
        parent, name = _split(path)
        self.folder(parent)
        self.folders[parent].add(name)

    def resolve(self, path: str) -> str | None:
        """The path with every link followed; None when it does not exist. Each path is followed
        once."""
        if path not in self._resolved:
            self._resolved[path] = self._follow(path)
        return self._resolved[path]

    def _follow(self, path: str) -> str | None:
        done, todo, hops = "", path.split("/")[::-1], 0
        while todo:
            part = todo.pop()
            if not part:
                continue
            if part == "..":
                done = done.rpartition("/")[0]
                continue
            here = f"{done}/{part}"
            target = self.links.get(here)
            if target is None:
                done = here
                continue
            hops += 1
            if hops > 40:
                return None
            if target.startswith("/"):
                done = ""
            todo += target.split("/")[::-1]
        done = done or "/"
        known = done in self.files or done in self.folders or done in self.devices
        return done if known else None

    def look(self, path: str, *, follow: bool) -> str | None:
        """`resolve`; dies where something must be there, or a link unless one is to `follow`."""
        real = self.resolve(path)
        if real is None and (follow or self.stored(path) is None):
            self.missing(path)
        return real

    def stored(self, path: str) -> str | None:
        """Target of a link, its parent folder resolved."""
        parent, name = posixpath.split(path)
        real = self.resolve(parent)
        return None if real is None else self.links.get(posixpath.join(real, name))

    def missing(self, path: str) -> None:
        """Dies unless this path may be missing."""
        match = re.match(r"(/sys/block/[^/]+)(/.*)?", path)
        gone = match is not None and self.resolve(match.group(1)) is None
        if not gone and not MAY_BE_MISSING.fullmatch(path):
            raise ModelGap(f"the fake host has no {path}")


def _constant(content: bytes) -> Content:
    return lambda: content


def build(machine: Machine) -> Tree:
    tree = Tree()
    nodes.system(machine, tree)
    nodes.disks(machine, tree)
    nodes.volumes(machine, tree)
    nodes.bcache_devices(machine, tree)
    nodes.bus(machine, tree)
    nodes.processes(machine, tree)
    for path, target in machine.links.items():
        tree.link(path, target)
    for path, content in machine.files.items():
        tree.file(path, content)
    return tree

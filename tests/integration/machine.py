"""What the tests need of a storage host: root's hands on it, and what it says it has run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from tests.contract.world import World

Argv = Sequence[str]


class Held(Protocol):
    """A program of an operation that stands still."""

    def wait(self) -> None:
        """Until it has been reached."""

    def resume(self) -> None:
        """Let it go on."""


class Machine(Protocol):
    """One host. `world` are root's hands: LVs, guests, the policy."""

    name: str
    address: str

    @property
    def world(self) -> World:
        """Root's hands."""

    @property
    def port(self) -> int:
        """Of its sshd, on this machine's loopback."""

    def panel_url(self, port: int) -> str:
        """How it reaches a panel on this machine's loopback."""

    def paste(self, line: str) -> None:
        """Run the enrolment command as root."""

    def run(self, argv: Argv) -> None:
        """A command as root; raises when it does not end with 0."""

    def fingerprint(self) -> str:
        """Of its host key, as read on its console."""

    def allow(self, vg: str) -> None:
        """`agent.pyz allow-vg`, as root."""

    def forbid_all(self) -> None:
        """Observe-only again."""

    def lvs(self) -> set[str]:
        """Names of the LVs in vg0 that are not hidden."""

    def executed(self) -> list[str]:
        """Command lines that changed something, by the host's own books, oldest first."""

    def as_executed(self, argvs: Sequence[Argv]) -> list[str]:
        """The lines that commands of a preview would leave in `executed`."""

    def hold(self, program: str) -> AbstractContextManager[Held]:
        """Stop the next run of a program inside an operation; it goes on at the end at latest."""

    def cut(self) -> None:
        """Break every SSH connection of the panel, from the host's side."""

    def digest(self, lv: str, size_bytes: int) -> str:
        """A checksum of the first bytes of a volume, read from its disks through the guest that
        holds it, or through its device where none does."""

    def write(self, lv: str, size_bytes: int) -> None:
        """Fill the first bytes of a volume with data, by the same way."""

    def kept_dirty(self, lv: str) -> AbstractContextManager[None]:
        """Data in the writeback cache of a volume that only a flush writes to its disk."""

    def spare_ssd(self) -> AbstractContextManager[tuple[str, str]]:
        """An empty SSD, by the kernel's name and by the serial number on its label. At the end it
        is taken out again, from vg0 too."""

    def load(self, lv: str) -> AbstractContextManager[None]:
        """Reads of a guest on a volume for which a cache is good."""

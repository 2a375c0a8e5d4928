"""virsh as a program: one that hangs, one that babbles, one that refuses."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.agent.calls.refusals import Refusal
from storage.agent.commands.command import run as command
from storage.agent.guests import virsh
from storage.agent.guests.virsh import blockresize
from storage.agent.kernel import tools
from storage.agent.realhost import RealHost

UUID = "00000000-0000-4000-8000-000000000012"
PATH = "/dev/vg0/web12"
ARGS = {"from_bytes": 1024, "size_bytes": 2048}
TELL = command("tell", *blockresize({"uuid": UUID, "path": PATH}, 2048))
IS_FREE = 'case "$4" in domjobinfo) echo "Job type: None";; blockjob) ;; '

Inform = Callable[[str], "tuple[int, list[str]]"]


@pytest.fixture
def inform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inform:
    """Tell a domain by a virsh that is this shell script; its exit code and what is said of it."""
    monkeypatch.setattr(tools, "FOLDERS", (str(tmp_path),))
    host = RealHost(tmp_path / "ops", tmp_path / "locks")

    def tell(script: str) -> tuple[int, list[str]]:
        path = tmp_path / "virsh"
        path.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/asked\n{script}\n')
        path.chmod(0o755)
        said: list[str] = []
        return virsh.run_virsh(host, TELL, ARGS, said.append), said

    return tell


def asked(tmp_path: Path) -> list[str]:
    return (tmp_path / "asked").read_text().splitlines()


def test_a_domain_is_informed_by_uuid_and_path(inform: Inform, tmp_path: Path) -> None:
    rc, said = inform(IS_FREE + 'domblkinfo) echo "Capacity: 1024";; *) echo "resized";; esac')
    assert (rc, said) == (0, ["resized"])
    assert asked(tmp_path)[-1] == f"-q -c qemu:///system blockresize {UUID} {PATH} 2048B"


@pytest.mark.parametrize("seen", ["512", "", "-1", "9" * 400, "1024 MiB"])
def test_a_disk_that_is_seen_otherwise_is_not_resized(
    inform: Inform, tmp_path: Path, seen: str
) -> None:
    rc, (said,) = inform(IS_FREE + f'domblkinfo) echo "Capacity: {seen}";; esac')
    assert rc == 0 and "not informed" in said
    assert not any("blockresize" in line for line in asked(tmp_path))


def test_a_domain_that_knows_the_size_is_not_informed(inform: Inform, tmp_path: Path) -> None:
    inform(IS_FREE + 'domblkinfo) echo "Capacity: 2048";; esac')
    assert not any("blockresize" in line for line in asked(tmp_path))


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ('case "$4" in domjobinfo) echo "Operation:        Backup";; esac', "backup is running"),
        ('case "$4" in blockjob) echo " type=Block Copy";; esac', "block copy is running"),
        (
            IS_FREE + 'domblkinfo) echo "Capacity: 1024";; *) printf "error: cannot acquire state '
            'change lock\\033[2J\\n" >&2; exit 1;; esac',
            "state change lock",
        ),
    ],
)
def test_a_domain_at_work_is_busy_and_says_with_what(inform: Inform, script: str, why: str) -> None:
    with pytest.raises(Refusal, match=why) as caught:
        inform(script)
    assert caught.value.code == "guest_busy" and caught.value.message.isprintable()


# What virsh 9.0.0 with QEMU 7.2 prints (Debian 12); tests/storage/agent/guests/test_real_libvirt.py
# asks the real ones.
HELD = "Timed out during operation: cannot acquire state change lock (held by monitor=remote)"
CONFLICT = "Permission conflict on node 'libvirt-1-format': permissions 'resize' are both required"
NO_SOCKET = "failed to connect to the hypervisor"


def refuses(word: str, stderr: str) -> str:
    """A virsh whose command `word` fails with these words."""
    return (
        f'case "$4" in {word}) echo "error: {stderr}" >&2; exit 1;; '
        'domjobinfo) echo "Job type: None";; domblkinfo) echo "Capacity: 1024";; esac'
    )


@pytest.mark.parametrize(
    ("word", "stderr"),
    [
        ("domjobinfo", HELD),
        ("blockjob", HELD),
        ("domblkinfo", HELD),
        ("blockresize", CONFLICT),
        ("domjobinfo", NO_SOCKET),
        ("domblkinfo", NO_SOCKET),
        ("domblkinfo", "Disconnected from qemu:///system due to keepalive timeout"),
        ("blockresize", "End of file while reading data: Input/output error"),
    ],
)
def test_a_libvirt_that_cannot_say_now_is_asked_again(
    inform: Inform, word: str, stderr: str
) -> None:
    with pytest.raises(Refusal) as caught:
        inform(refuses(word, stderr))
    assert caught.value.code == "guest_busy"


def test_a_size_that_libvirt_cannot_tell_is_no_reason_to_be_done(inform: Inform) -> None:
    with pytest.raises(Refusal, match="cannot stat") as caught:
        inform(refuses("domblkinfo", "cannot stat file"))
    assert caught.value.code == "cmd_failed"


@pytest.mark.parametrize(
    "stderr",
    [
        f"failed to get domain '{UUID}'",
        f"invalid argument: invalid path {PATH} not assigned to domain",
    ],
)
def test_a_domain_that_has_left_the_disk_is_not_informed(inform: Inform, stderr: str) -> None:
    rc, (said,) = inform(refuses("domblkinfo", stderr))
    assert rc == 0 and "not informed" in said


def test_a_libvirt_that_hangs_is_left_in_time(
    inform: Inform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(virsh, "SECONDS", 0.3)
    begun = time.monotonic()
    with pytest.raises(Refusal, match="did not answer") as caught:
        inform("exec sleep 60")
    assert caught.value.code == "guest_busy"
    assert time.monotonic() - begun < 10


def test_what_libvirt_refuses_for_good_is_a_failure(inform: Inform) -> None:
    with pytest.raises(Refusal, match="not supported") as caught:
        inform(
            IS_FREE + 'domblkinfo) echo "Capacity: 1024";; *) echo "error: not supported" >&2; '
            "exit 1;; esac"
        )
    assert caught.value.code == "cmd_failed"

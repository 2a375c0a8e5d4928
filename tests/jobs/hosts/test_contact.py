"""Trust in hosts: accepting a fingerprint, quarantine, and what the last contact left."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import asyncssh
import pytest
from django.db.models.functions import Now
from django.utils import timezone
from pytest_django import Settings

from jobs import notify_workers, transport
from jobs.hosts import contact
from jobs.hosts.trust import accept_fingerprint, key_fingerprint
from jobs.transport.errors import (
    AgentFailed,
    AnswerTimeout,
    HostKeyChanged,
    NotActive,
    TransportError,
    Unreachable,
)
from jobs.transport.key_encryption import CannotUnseal
from jobs.transport.replies import AgentError
from storage.models import Host
from storage.models.host import HostState, silent_seconds
from storage.planner import Refused
from tests import make
from tests.jobs.sshd import Sshd

pytestmark = pytest.mark.django_db
Make = Callable[..., Sshd]


def test_a_fingerprint_is_what_ssh_keygen_prints(tmp_path: Path) -> None:
    _, line = transport.new_key_pair()
    (tmp_path / "key.pub").write_text(f"{line} root@web12\n")
    shown = subprocess.run(
        ["ssh-keygen", "-lf", str(tmp_path / "key.pub")],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert key_fingerprint(line) == shown.split()[1]
    with pytest.raises(ValueError, match="not an OpenSSH public key"):
        key_fingerprint("ssh-ed25519")


def test_the_right_fingerprint_makes_a_host_active(
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Callable[..., object],
) -> None:
    sent: list[object] = []
    monkeypatch.setattr(notify_workers, "send", lambda *message: sent.append(message))
    _, key = transport.new_key_pair()
    host = make.host(state="unverified", host_key="", host_key_seen=key)
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]
        accept_fingerprint(host, f" {key_fingerprint(key)}\n", make.staff_user())
    host.refresh_from_db()
    assert (host.state, host.host_key, host.host_key_seen) == (HostState.ACTIVE, key, "")
    assert sent == [("jobs.tasks.refresh_host", host.pk)]


@pytest.mark.parametrize("given", ["", "SHA256:", "SHA256:" + "A" * 43, "MD5:aa", "é"])
def test_another_fingerprint_changes_nothing(given: str) -> None:
    _, key = transport.new_key_pair()
    host = make.host(state="unverified", host_key="", host_key_seen=key)
    with pytest.raises(Refused) as caught:
        accept_fingerprint(host, given, None)
    assert caught.value.code == "fingerprint_mismatch"
    host.refresh_from_db()
    assert (host.state, host.host_key) == (HostState.UNVERIFIED, "")


def test_without_a_waiting_key_there_is_nothing_to_accept() -> None:
    with pytest.raises(Refused, match="no key to accept"):
        accept_fingerprint(make.host(), "SHA256:x", None)


def test_a_changed_key_quarantines_the_host_until_a_person_accepts_it(sshd: Make) -> None:
    server, other = sshd(), sshd()
    host = server.host()
    trusted = other.host_key
    Host.objects.filter(pk=host.pk).update(host_key=trusted)
    host.refresh_from_db()
    with pytest.raises(HostKeyChanged):
        contact.ask(host, "inventory")
    host.refresh_from_db()
    assert (host.state, host.host_key) == (HostState.QUARANTINED, trusted)
    assert host.host_key_seen == server.host_key
    assert host.error["code"] == "host_key_changed"
    assert key_fingerprint(server.host_key) in host.error["message"]
    assert key_fingerprint(trusted) in host.error["message"]
    connections = server.connections
    with pytest.raises(NotActive):
        contact.ask(host, "inventory")
    assert (server.connections, server.requests) == (connections, [])
    accept_fingerprint(host, key_fingerprint(server.host_key), None)
    assert contact.ask(host, "inventory").ok
    host.refresh_from_db()
    assert (host.state, host.error) == (HostState.ACTIVE, {})


def quarantined_by_a_stranger(sshd: Make) -> tuple[Host, Sshd, str]:
    """A host whose address another machine has: what answers there, and the key that is pinned."""
    stranger, true_key = sshd(), sshd().host_key
    host = stranger.host()
    Host.objects.filter(pk=host.pk).update(host_key=true_key)
    host.refresh_from_db()
    with pytest.raises(HostKeyChanged):
        contact.ask(host, "hello")
    return host, stranger, true_key


def test_a_host_that_is_back_with_its_pinned_key_is_let_in_by_it(sshd: Make) -> None:
    server = sshd()
    host, true_key = server.host(), server.server_key
    server.close()
    server.server_key = asyncssh.generate_private_key("ssh-ed25519")
    server.start()
    with pytest.raises(HostKeyChanged):
        contact.ask(host, "hello")
    server.close()
    server.server_key = true_key
    server.start()
    accept_fingerprint(host, key_fingerprint(server.host_key), make.staff_user())
    assert (host.state, host.host_key, host.host_key_seen) == ("active", server.host_key, "")
    assert contact.ask(host, "hello").ok
    host.refresh_from_db()
    assert (host.state, host.error) == (HostState.ACTIVE, {})


def test_a_stranger_stays_out_also_when_the_pinned_key_is_accepted_again(sshd: Make) -> None:
    host, stranger, true_key = quarantined_by_a_stranger(sshd)
    accept_fingerprint(host, key_fingerprint(true_key), make.staff_user())
    with pytest.raises(HostKeyChanged):
        contact.ask(host, "hello")
    host.refresh_from_db()
    assert (host.state, host.host_key) == (HostState.QUARANTINED, true_key)
    assert host.host_key_seen == stranger.host_key
    assert stranger.requests == []


def test_a_quarantined_host_takes_neither_a_third_fingerprint_nor_none(sshd: Make) -> None:
    host, stranger, true_key = quarantined_by_a_stranger(sshd)
    for given in ("", key_fingerprint(transport.new_key_pair()[1])):
        with pytest.raises(Refused) as caught:
            accept_fingerprint(host, given, None)
        assert caught.value.code == "fingerprint_mismatch"
        for key in (true_key, stranger.host_key):
            assert key_fingerprint(key) in caught.value.message
    host.refresh_from_db()
    assert host.state == HostState.QUARANTINED


def test_the_pinned_key_needs_no_acceptance_while_the_host_is_in_service() -> None:
    host = make.host(host_key=transport.new_key_pair()[1])
    with pytest.raises(Refused, match="no key to accept"):
        accept_fingerprint(host, key_fingerprint(host.host_key), None)


def test_a_failure_is_kept_until_the_next_good_contact(sshd: Make) -> None:
    server = sshd()
    host = server.host()
    server.close()
    with pytest.raises(Unreachable):
        contact.ask(host, "hello")
    host.refresh_from_db()
    assert host.error["code"] == "unreachable"
    assert host.error["correction"]
    assert host.last_seen_at is None
    server.start()
    contact.ask(host, "hello")
    host.refresh_from_db()
    assert host.error == {}
    assert host.last_seen_at is not None


def test_a_late_failure_does_not_undo_what_a_person_accepted(sshd: Make) -> None:
    server = sshd()
    host = server.host()
    error = HostKeyChanged("web12", "SHA256:a", "SHA256:b", "ssh-ed25519 AAAA")
    late = Host.objects.get(pk=host.pk)
    late.host_key = "ssh-ed25519 OLD"
    contact.note_failure(late, error)
    host.refresh_from_db()
    assert host.state == HostState.ACTIVE


def test_a_process_without_keys_says_nothing_of_a_host_that_others_hear(
    sshd: Make, settings: Settings
) -> None:
    server = sshd()
    host = server.host()
    Host.objects.filter(pk=host.pk).update(last_seen_at=Now(), error={})
    settings.TIERCEL_HOST_KEYS_SECRET = ""
    with pytest.raises(CannotUnseal):
        contact.dry_run(host, [])
    host.refresh_from_db()
    assert host.error == {}
    long_ago = Now() - timedelta(seconds=silent_seconds() + 1)
    Host.objects.filter(pk=host.pk).update(last_seen_at=long_ago)
    with pytest.raises(CannotUnseal):
        contact.dry_run(host, [])
    host.refresh_from_db()
    assert host.error["code"] == "key_sealed", "no process hears it: this may be why"


@pytest.mark.parametrize(
    "error",
    [
        AnswerTimeout("web12", 30.0),
        AgentFailed("web12", AgentError("timeout", "LVM did not answer within 10 s.", "Wait.")),
    ],
)
def test_one_late_inventory_is_no_failure_of_a_host_whose_samples_arrive(
    error: TransportError,
) -> None:
    host = make.host(last_seen_at=timezone.now())
    contact.note_failure(host, error)
    host.refresh_from_db()
    assert host.error == {}
    long_ago = Now() - timedelta(seconds=silent_seconds() + 1)
    Host.objects.filter(pk=host.pk).update(last_seen_at=long_ago)
    contact.note_failure(host, error)
    host.refresh_from_db()
    assert host.error["code"] == error.code

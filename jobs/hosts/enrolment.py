"""Enrolling a host: a one-time token, the script it fetches, and the host's report of itself.

The database keeps only the token's digest; the panel can make the token again from its secret
key, so that the page with the line may be loaded again. Fetching the script does not use the token
up; the report at the script's end does, within an hour. Running a fresh line again upgrades the
agent.
"""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from collections.abc import Iterator
from datetime import timedelta
from hmac import compare_digest
from pathlib import Path

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator, validate_ipv46_address
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.crypto import salted_hmac

from jobs import notify_workers
from jobs.transport import new_key_pair
from jobs.transport.errors import Unreachable, match_user_block
from jobs.transport.key_encryption import seal
from storage.models import Host
from storage.models.host import HostState
from storage.naming import AGENT_PATH
from storage.planner import Refused

LIFETIME = timedelta(hours=1)
DEFAULT_PORT = 22
TEMPLATE = Path(__file__).with_name("enrol.sh")

MACHINE_ID = re.compile(r"[0-9a-f]{32}")
ACCOUNT = re.compile(r"[a-z_][a-z0-9_-]{0,30}")
KEY_LINE = re.compile(r"ssh-ed25519 ([A-Za-z0-9+/]{68}={0,2})(?: [^\n]*)?")
KEY_TYPE = b"\0\0\0\x0bssh-ed25519\0\0\0\x20"
NAME = RegexValidator(r"\A[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?\Z", "Use a-z, 0-9, dots, dashes.")
HOSTNAME = RegexValidator(r"\A[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?\Z")


@transaction.atomic
def begin_enrolment(
    name: str,
    address: str,
    port: int | None = None,
    account: str | None = None,
    *,
    new_key: bool = False,
) -> tuple[Host, str]:
    """A host that may enrol, and its token. A known name gets a new token and keeps everything
    else but the address, and the port and account where they are given. With `new_key` the panel's
    key for it is replaced: the panel cannot reach the host until its line was run. Raises
    `Refused` for names and addresses that cannot be."""
    for _, refused in objections(name, address, port, account):
        raise refused
    known = Host.objects.exclude(state=HostState.REMOVED).filter(name=name)
    host = known.select_for_update(no_key=True).first()
    host = host or Host(name=name)
    port_given = port is not None or _is_port_given(host)
    host.address = address
    if port is not None:
        host.port = port
    if account is not None:
        host.account = account
    if new_key or not host.sealed_key:
        private_key, host.public_key = new_key_pair()
        host.sealed_key = seal(private_key)
    host.save()
    Host.objects.filter(pk=host.pk).update(enrol_expires_at=Now() + LIFETIME)
    host.refresh_from_db(fields=["enrol_expires_at"])
    token = _token(host, port_given=port_given)
    host.enrol_digest = _digest(token)
    host.save(update_fields=["enrol_digest"])
    return host, token


@transaction.atomic
def readdress(host: Host, address: str, port: int) -> None:
    """Reach the host there from now on; raises `Refused`. The accepted key stays, so another
    machine at that address is never trusted."""
    for _, refused in objections(host.name, address, port, None):
        raise refused
    locked = Host.objects.select_for_update(no_key=True).get(pk=host.pk)
    locked.address, locked.port = address, port
    locked.save(update_fields=["address", "port"])
    if locked.state == HostState.ACTIVE:
        notify_workers.host(locked.pk)


def line(token: str, public_url: str) -> str:
    """What a person pastes into a root shell on the host."""
    return f"curl -fsS {public_url}/enrol/{token} | sh"


def waiting_token(host: Host) -> str | None:
    """The token that the host still may use; None where it has none, it is too old, or it was made
    with another secret key."""
    if not host.enrol_digest or host.enrol_expires_at is None:
        return None
    token = _token(host, port_given=_is_port_given(host))
    is_ours = compare_digest(_digest(token), host.enrol_digest)
    return token if is_ours and host.enrol_expires_at > timezone.now() else None


def enrolling_host(token: str) -> Host | None:
    """The host that this token enrols; None once it is used, too old or never was."""
    return Host.objects.filter(enrol_digest=_digest(token), enrol_expires_at__gt=Now()).first()


def script(host: Host, token: str, public_url: str, agent: bytes) -> str:
    """The installation script for POSIX sh; `agent` is what `agent.pyz` will download."""
    values = {
        "URL": f"{public_url}/enrol/{token}",
        "AGENT_SHA256": hashlib.sha256(agent).hexdigest(),
        "AGENT_PATH": AGENT_PATH,
        "ACCOUNT": host.account,
        "PUBLIC_KEY": f"{host.public_key} tiercel-panel",
        "MATCH_BLOCK": match_user_block(host.account),
    }
    text = TEMPLATE.read_text()
    for name, value in values.items():
        text = text.replace(f"@{name}@", shlex.quote(value))
    return text


@transaction.atomic
def report_host(token: str, machine_id: str, host_key: str, port: int) -> Host:
    """Take a host's word for who it is; a person confirms it by the fingerprint.

    Uses the token up. Raises `Refused`, and then it is not used up.
    """
    host = (
        Host.objects.select_for_update(no_key=True)
        .filter(enrol_digest=_digest(token), enrol_expires_at__gt=Now())
        .first()
    )
    if host is None:
        raise Refused(
            "not_found",
            "This enrolment command is used up or older than an hour.",
            "Get a new one: on the host's page, or by manage.py enrol NAME ADDRESS",
        )
    key = _checked_key(host_key)
    if not MACHINE_ID.fullmatch(machine_id):
        raise Refused(
            "bad_request", "The machine id is not 32 hexadecimal digits.", "See /etc/machine-id."
        )
    _only_one(host, machine_id)
    if not 1 <= port <= 65535:
        raise Refused("bad_request", f"{port} is no TCP port.", "See Port in sshd_config.")
    if _learns_port(host):
        host.port = port
    host.machine_id, host.enrol_digest, host.enrol_expires_at = machine_id, "", None
    if host.state in (HostState.PENDING, HostState.UNVERIFIED):
        host.state = HostState.UNVERIFIED
    elif key != host.host_key:
        host.state = HostState.QUARANTINED
    if host.state != HostState.ACTIVE:
        # In quarantine the pinned key too: what was seen before may have been another machine's,
        # and the token came from root on this one.
        host.host_key_seen = key
    try:
        with transaction.atomic():
            host.save()
    except IntegrityError:  # another host reported the same id between the check and here
        _only_one(host, machine_id)
        raise
    if host.state == HostState.ACTIVE:
        notify_workers.host(host.pk)
    return host


def _learns_port(host: Host) -> bool:
    """Whether sshd's own port counts. One that a person gave may be a forwarded one, of which the
    host knows nothing, and one by which the host is reached is not lost to what it says."""
    is_reached = host.state != HostState.PENDING and host.error.get("code") != Unreachable.code
    return host.port == DEFAULT_PORT and not _is_port_given(host) and not is_reached


def _only_one(host: Host, machine_id: str) -> None:
    others = Host.objects.exclude(pk=host.pk).exclude(state=HostState.REMOVED)
    other = others.filter(machine_id=machine_id).first()
    if other is not None:
        raise Refused(
            "already_exists",
            f"This machine id is enrolled already, as {other.name}.",
            f"To enrol it again: manage.py enrol {other.name} ADDRESS. If this machine is a clone, "
            "give it an id of its own: rm /etc/machine-id; systemd-machine-id-setup",
        )


def _checked_key(line: str) -> str:
    """An ed25519 public key without its comment: it becomes a line of known hosts."""
    match = KEY_LINE.fullmatch(line.strip())
    blob = base64.b64decode(match[1]) if match else b""
    if match is None or not blob.startswith(KEY_TYPE) or len(blob) != len(KEY_TYPE) + 32:
        raise Refused(
            "bad_request",
            "That is not an ed25519 host key.",
            "Make one on the host: ssh-keygen -A, then reload sshd.",
        )
    return f"ssh-ed25519 {match[1]}"


def objections(
    name: str, address: str, port: int | None, account: str | None
) -> Iterator[tuple[str, Refused]]:
    """What is wrong with a host to be, each with the field it concerns; None: not given."""
    try:
        NAME(name)
    except ValidationError as error:
        yield (
            "name",
            Refused("bad_request", f"{name[:80]!r} cannot be a host's name.", str(error.message)),
        )
    if not _is_address(address):
        yield (
            "address",
            Refused(
                "bad_request",
                f"{address[:80]!r} is neither a host name nor an IP address.",
                "Give the address by which the panel reaches the host's sshd.",
            ),
        )
    if port is not None and not 1 <= port <= 65535:
        yield "port", Refused("bad_request", f"{port} is no TCP port.", "Use 1 to 65535.")
    if account is not None and (not ACCOUNT.fullmatch(account) or account == "root"):
        yield (
            "account",
            Refused(
                "bad_request",
                f"{account[:40]!r} cannot be the panel's account.",
                "Use a system account of its own, such as tiercel.",
            ),
        )


def _is_address(text: str) -> bool:
    for validate in (HOSTNAME, validate_ipv46_address):
        try:
            validate(text)
        except ValidationError:
            continue
        return True
    return False


def _is_port_given(host: Host) -> bool:
    """Whether a person gave the port of the host that has not reported yet. The token records it:
    a given 22 must not count as the default."""
    return compare_digest(_digest(_token(host, port_given=True)), host.enrol_digest)


def _token(host: Host, *, port_given: bool) -> str:
    """Derived with the secret key from the host, the expiry and whether a person gave the port."""
    expires_at = host.enrol_expires_at
    moment = expires_at.isoformat() if expires_at is not None else ""
    what = f"{host.key} {moment}{' port given' if port_given else ''}"
    seal = salted_hmac("jobs.enrolment", what, algorithm="sha256")
    return base64.urlsafe_b64encode(seal.digest()).decode().rstrip("=")


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()

"""Starts checks of disks and arrays on their hosts, which then do the work by themselves
(`jobs.models.media_check` follows it). The global stop, maintenance and change windows hold the
beginning back.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from django.db import IntegrityError, transaction

from jobs import notify_workers
from jobs.engine.holds import OnHold, check_not_held, read_host
from jobs.hosts import panel_identity
from jobs.models import CheckKind, CheckState, MediaCheck
from jobs.models.media_check import move
from jobs.requester import Requester
from jobs.transport import call
from jobs.transport.errors import TransportError
from storage.database_clock import database_now
from storage.health.smart_reading import SmartHealth
from storage.host_data import clean_text, decoded
from storage.inventory.facts import Array
from storage.models import Host, PhysicalDisk
from storage.models.host import HostState
from storage.planner import Refused
from storage.stored_inventory import inventory_of

DEADLINE_SECONDS: Final = 90.0
LEASE: Final = timedelta(minutes=2)
"""The time in which a worker must begin a check; then another one tries."""
RETRY: Final = timedelta(minutes=1)
GIVEN_UP: Final = timedelta(hours=12)
"""A check that could not begin within this time is refused."""
LOOK_AGAIN: Final = "Look at the host's disks, then request the check again."


def test_disk(disk: PhysicalDisk, kind: CheckKind, requester: Requester) -> MediaCheck:
    """Ask for a self-test. Raises `Refused`."""
    if not disk.health:
        raise Refused("not_read", "The disk has not been read yet.", LOOK_AGAIN)
    if disk.state == "standby":
        raise Refused(
            "asleep",
            "The disk is asleep, and a self-test would wake it.",
            "Test it while it is in use.",
        )
    health = _health(disk)
    if not health.serial and not health.wwn:
        raise Refused(
            "unsupported",
            "The disk reports no serial number, so it cannot be identified for the test.",
            f"On the host, run: smartctl -t {kind} {disk.device}",
        )
    return _ask(disk.host, requester, kind=kind, disk=disk, hours_before=health.power_on_hours)


def check_array(host: Host, array: Array, requester: Requester) -> MediaCheck:
    """Ask the kernel to compare the copies of an array. Raises `Refused`."""
    facts = inventory_of(host)
    trouble = array.trouble if facts is None else facts.trouble_of(array)
    if trouble is not None and trouble.code != "array_recovering":
        raise Refused("degraded", f"{trouble.message}.", trouble.correction)
    if array.sync_action not in ("", "idle"):
        raise Refused(
            "busy",
            f"{array.name} is already busy: {array.sync_action}.",
            "Wait until it is idle.",
        )
    fields = {"kind": CheckKind.ARRAY, "array": array.name, "array_uuid": array.uuid}
    return _ask(host, requester, **fields)


def _ask(host: Host, requester: Requester, **fields: Any) -> MediaCheck:
    if host.state != HostState.ACTIVE:
        raise Refused("not_active", f"{host} is not in use.", "Finish its enrolment first.")
    asked: dict[str, Any] = {
        "host": host,
        "actor": requester.actor,
        "address": requester.address,
        "origin": requester.origin,
        "token": requester.token,
    }
    try:
        with transaction.atomic():
            made = MediaCheck.objects.create(**{**asked, **fields})
            made.refresh_from_db()
            notify_workers.check(made.pk)
    except IntegrityError:
        raise Refused(
            "already_exists", "A check of it has not ended yet.", "Wait until it has ended."
        ) from None
    return made


def announce_due() -> None:
    """Messages for checks that no worker has begun."""
    now = database_now()
    due = MediaCheck.objects.filter(state=CheckState.ASKED, not_before__lte=now)
    for pk in due.filter(created_at__lt=now - timedelta(seconds=10)).values_list("pk", flat=True):
        notify_workers.send("jobs.tasks.begin_check", pk)


def begin_media_check(check_id: int) -> None:
    """Begin the check on its host, if it is due. Safe to repeat: the host does not begin a check
    that is already running."""
    check = _claim(check_id)
    if check is None:
        return
    try:
        check_not_held(read_host(check.host_id))
        panel = panel_identity.named_to(check.host)
        verb, args = _request(check)
        reply = call(check.host, verb, args, panel=panel, deadline_seconds=DEADLINE_SECONDS)
    except OnHold as held:
        _put_off(check, f"{held.sentence}.", held.again_at)
    except TransportError as error:
        _put_off(check, str(error), database_now() + RETRY)
    else:
        refusal = reply.error
        # It may have begun before the answer to the last attempt was lost.
        is_repeated = check.attempts > 1
        if refusal is None or (is_repeated and refusal.code == "already_exists"):
            minutes = reply.data.get("minutes") if refusal is None else None
            move(
                check,
                CheckState.RUNNING,
                started_at=database_now(),
                minutes=minutes if type(minutes) is int and 0 <= minutes < 100_000 else None,
            )
        else:
            _refuse(check, refusal.message, refusal.correction)


def _claim(check_id: int) -> MediaCheck | None:
    """The check, if it is due and no other worker has it."""
    now = database_now()
    due = MediaCheck.objects.filter(pk=check_id, state=CheckState.ASKED, not_before__lte=now)
    with transaction.atomic():
        check = due.select_related("host", "disk").select_for_update(of=("self",)).first()
        if check is None:
            return None
        check.attempts, check.not_before = check.attempts + 1, now + LEASE
        check.save(update_fields=["attempts", "not_before"])
    if now - check.created_at > GIVEN_UP:
        _refuse(check, f"It could not begin: {check.message or 'no worker ran'}", LOOK_AGAIN)
        return None
    return check


def _request(check: MediaCheck) -> tuple[str, dict[str, str]]:
    if check.disk is None:
        return "array.check", {"array": check.array, "uuid": check.array_uuid}
    health = _health(check.disk)
    return "disk.test", {
        "device": check.disk.device,
        "type": check.disk.kind,
        "serial": health.serial or health.wwn,
        "kind": check.kind,
    }


def _put_off(check: MediaCheck, why: str, until: datetime) -> None:
    waiting = MediaCheck.objects.filter(pk=check.pk, state=CheckState.ASKED)
    waiting.update(not_before=until, message=clean_text(why))


def _refuse(check: MediaCheck, message: str, correction: str) -> None:
    move(check, CheckState.REFUSED, message=message, correction=correction)


def _health(disk: PhysicalDisk) -> SmartHealth:
    return decoded(disk.health, SmartHealth, "health")

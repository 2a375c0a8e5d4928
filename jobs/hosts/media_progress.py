"""How far checks of disks and arrays are, and what came of them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Q

from jobs.models import CheckState, MediaCheck
from storage.database_clock import database_now
from storage.formatting import counted
from storage.health.smart_reading import SmartHealth
from storage.host_data import clean_text, decoded
from storage.inventory.facts import HostFacts
from storage.models import Host

LATE: Final = timedelta(days=2)
"""A self-test of unknown length that shows no result by then has none."""
READING: Final = timedelta(minutes=3)
INVENTORY: Final = timedelta(minutes=1)
"""What is read so soon after the beginning may have been asked before it."""


def move(check: MediaCheck, to: CheckState, **fields: Any) -> None:
    """From the state that it was read in."""
    for name in ("message", "correction"):
        fields[name] = clean_text(fields.get(name, ""))
    if to is not CheckState.RUNNING:
        fields |= {"ended_at": database_now(), "remaining_percent": None}
    MediaCheck.objects.filter(pk=check.pk, state=check.state).update(state=to, **fields)


def follow_tests(host: Host, now: datetime) -> None:
    """After a reading of the host's disks: how far their tests are, and what came of them."""
    running = MediaCheck.objects.filter(host=host, state=CheckState.RUNNING, disk__isnull=False)
    for check in running.select_related("disk"):
        disk = check.disk
        if disk is None or disk.read_at != now:
            continue
        health = decoded(disk.health, SmartHealth, "health")
        if health.running_test is not None:
            left = health.running_test.remaining_percent
            MediaCheck.objects.filter(pk=check.pk).update(remaining_percent=left)
        elif now - (check.started_at or now) > READING:
            _judge(check, health, now)


def _judge(check: MediaCheck, health: SmartHealth, now: datetime) -> None:
    """The newest result counts where it is not older than the test."""
    newest = health.self_tests[0] if health.self_tests else None
    before = check.hours_before or 0
    if newest is not None and newest.at_hours is not None and newest.at_hours >= before:
        states = {True: CheckState.PASSED, False: CheckState.FAILED, None: CheckState.STOPPED}
        move(check, states[newest.passed], message=newest.result)
        return
    patience = LATE if check.minutes is None else timedelta(minutes=2 * check.minutes + 60)
    if check.started_at is not None and now - check.started_at > patience:
        why = "The disk shows no result of the test."
        how = "Newer versions of smartmontools read more disks' results: smartctl -l selftest"
        move(check, CheckState.STOPPED, message=why, correction=how)


def follow_arrays(host: Host, facts: HostFacts, now: datetime) -> None:
    """After an inventory: how far the checks of arrays are, and what they found."""
    arrays = {array.uuid: array for array in facts.arrays}
    running = MediaCheck.objects.filter(host=host, state=CheckState.RUNNING, disk=None)
    for check in running:
        array = arrays.get(check.array_uuid)
        if array is None:
            move(check, CheckState.STOPPED, message="The array is gone.")
        elif array.sync_action == "check":
            left = None if array.progress is None else 100 - int(100 * array.progress)
            MediaCheck.objects.filter(pk=check.pk).update(remaining_percent=left)
        elif now - (check.started_at or now) <= INVENTORY:
            continue
        elif array.mismatch_sectors:
            found = f"The copies differ in {counted(array.mismatch_sectors, 'sector')}."
            move(check, CheckState.FAILED, message=found)
        else:
            move(check, CheckState.PASSED)


def hosts_with_tests() -> Q:
    """Hosts whose disks are read in every round, because a test runs."""
    running = MediaCheck.objects.filter(state=CheckState.RUNNING, disk__isnull=False)
    return Q(pk__in=running.values("host_id"))

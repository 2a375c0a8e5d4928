"""A volume that is slow because of its neighbour, on the lab's throttled disk: one message, which
names the neighbour, and one when it is over."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from jobs.models import Alert
from storage.models import Host, Volume
from tests.integration.conftest import LAB
from tests.integration.lab_machine import LabMachine
from tests.integration.person import Person
from tests.integration.recipients import Recipients
from tests.integration.until import until
from tests.lab import load
from tests.panel.deliveries.alerts.alert_messages import arrived

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(2400)]

MIB = 1 << 20
CODE = "volume_slow"
MESSAGE_SECONDS = 180
# The reads must be well for five minutes first.
OVER_SECONDS = 480
CALM_SECONDS = 120


@contextmanager
def reads(machine: LabMachine, lv: str, *, limit_iops: int = 0, count: int = 1) -> Iterator[None]:
    """`count` loads, each of depth 8."""
    device = machine.world.device(lv)
    with ExitStack() as stack:
        for n in range(count):
            running = load.read_hot(machine.lab, f"{lv}-{n}", device, limit_iops=limit_iops)
            stack.callback(running.stop)
        load.wait_until_reading(machine.lab, device)
        yield


def came(recipients: Recipients) -> list[tuple[str, dict[str, tuple[str, str]]]]:
    """Each message about slow volumes: by which way, and by volume what happened and what it
    says."""
    messages: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {}
    for message, event in arrived(recipients.postbox, recipients.place):
        if event.alert.code == CODE and event.alert.volume is not None:
            _, volumes = messages.setdefault(message.key, (message.route.kind, {}))
            volumes[event.alert.volume.label] = (event.kind, event.text)
    return list(messages.values())


@pytest.mark.parametrize("machine", [pytest.param("lab", marks=LAB)], indirect=True)
def test_who_keeps_the_disk_busy_is_named_in_one_message_within_three_minutes(
    machine: LabMachine, host: Host, person: Person, recipients: Recipients
) -> None:
    # The panel still lists those of an earlier run.
    number = Volume.objects.count()
    calm, greedy = f"calm{number}", f"greedy{number}"
    with ExitStack() as stack:
        for lv in (calm, greedy):
            machine.world.add_lv(lv, 512 * MIB)
            stack.callback(machine.world.remove_lv, lv)
        person.refresh(host)
        stack.enter_context(reads(machine, calm, limit_iops=20))
        time.sleep(CALM_SECONDS)
        assert not Alert.objects.filter(code=CODE).exists(), "its disk is as slow without others"

        # Their depth of 16 fills the disk: each read of either volume waits for them.
        with reads(machine, greedy, count=2):
            begun = time.monotonic()
            until("both were notified", lambda: len(came(recipients)) == 2, MESSAGE_SECONDS)
            print(f"notified after {time.monotonic() - begun:.0f} s", flush=True)
            time.sleep(CALM_SECONDS)
            opened = came(recipients)
            assert sorted(way for way, _ in opened) == ["email", "webhook"]
            for _, volumes in opened:
                for happened, text in volumes.values():
                    assert happened == "opened" and f"{greedy} 9" in text, text
            # Which of the two is slow first is chance: the other one follows it without a message.
            alerts = Alert.objects.filter(code=CODE, resolved_at=None)
            assert {each.volume.label for each in alerts if each.volume} == {calm, greedy}
            assert [each.cause for each in alerts if each.notified_at is None] == [
                each for each in alerts if each.notified_at is not None
            ]

        begun = time.monotonic()
        until("its end was notified", lambda: len(came(recipients)) == 4, OVER_SECONDS)
        print(f"its end was notified after {time.monotonic() - begun:.0f} s", flush=True)
        time.sleep(CALM_SECONDS)
        resolved = [
            (way, volumes)
            for way, volumes in came(recipients)
            if {happened for happened, _ in volumes.values()} == {"resolved"}
        ]
        assert sorted(way for way, _ in resolved) == ["email", "webhook"]
        assert len(came(recipients)) == 4

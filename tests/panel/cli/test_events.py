"""Events as they come."""

from __future__ import annotations

import json

import pytest

from panel.cli import event_commands
from panel.cli.exit_codes import ExitCode
from panel.models import User
from tests.panel.cli.conftest import Tiercel
from tests.scene import Scene, end, job, scene

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def there(admin: User) -> Scene:
    return scene(label="web12 disk")


def test_events_are_listed_from_a_place_on(tiercel: Tiercel, there: Scene) -> None:
    tail = ("events", "tail", "--no-follow")
    assert tiercel(*tail).out == ""
    first = job(there)
    listed = tiercel(*tail, "--from-start", "--type", "job.*")
    assert listed.code == 0, listed.error
    (line,) = listed.out.splitlines()
    place, _, kind, *keys = line.split(" ")
    assert kind == "job.queued"
    assert {f"volume={there.volume.key}", f"job={first.key}", "kind=add-cache"} <= set(keys)
    end(first)
    later = tiercel(*tail, "--after", place, "--volume", there.volume.key, "--json")
    events = [json.loads(each) for each in later.out.splitlines()]
    assert [each["type"] for each in events][-1] == "job.succeeded"
    assert place not in [each["id"] for each in events]
    gone = tiercel(*tail, "--after", "evt_unknown")
    assert gone.code == ExitCode.REFUSED and "cursor=latest" in gone.error


def test_what_is_new_comes_until_it_is_ended(
    tiercel: Tiercel, there: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def pause(seconds: float) -> None:
        if made:
            raise KeyboardInterrupt
        made.append(job(there))

    monkeypatch.setattr(event_commands, "WAIT_SECONDS", 0)
    monkeypatch.setattr(event_commands, "sleep", pause)
    tailed = tiercel("events", "tail")
    assert tailed.code == ExitCode.INTERRUPTED
    assert "job.queued" in tailed.out and made[0].key in tailed.out

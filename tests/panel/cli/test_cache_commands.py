"""`tiercel cache` at a live panel: a plan with its commands, and what is done after a yes."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

import pytest

from jobs.models import Job, State
from panel.cli.exit_codes import ExitCode
from panel.models import User
from storage.byte_sizes import MIB
from tests import make
from tests.panel.cli.conftest import Meanwhile, Tiercel
from tests.scene import Scene, end, job, scene, step

pytestmark = pytest.mark.django_db(transaction=True)

POOL = "c-aaaaaaaaaaaaaaaa"


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """What a person types at a terminal."""

    def type_text(text: str) -> None:
        class Keyboard(StringIO):
            def isatty(self) -> bool:
                return True

        monkeypatch.setattr("sys.stdin", Keyboard(text))

    return type_text


def carried_out(state: State = State.SUCCEEDED, **fields: object) -> Callable[[], None]:
    """What a worker does with the newest job."""

    def work() -> None:
        newest = Job.objects.latest("id")
        step(newest)
        end(newest, state, **fields)

    return work


def test_a_plan_shows_the_exact_commands_and_apply_runs_them(
    tiercel: Tiercel, there: Scene, meanwhile: Meanwhile
) -> None:
    meanwhile(carried_out())
    planned = tiercel("cache", "plan", there.volume.key, "--size", "256M")
    preview = Job.objects.get()
    assert planned.code == 0, planned.error
    assert (preview.dry_run, preview.wish["cache"]["size_bytes"]) == (True, 256 * MIB)
    assert "1. Attach the cache\n     lvconvert -y --type cache vg0/web12\n" in planned.out
    assert f"tiercel cache apply {preview.key}" in planned.out

    meanwhile(carried_out())
    applied = tiercel("cache", "apply", preview.key, "--yes", "--wait", "--json")
    assert applied.code == 0, applied.error
    assert (applied.data["dry_run"], applied.data["state"]) == (False, "succeeded")
    assert applied.error == ""


def test_without_a_yes_nothing_is_done(
    tiercel: Tiercel, there: Scene, meanwhile: Meanwhile, typed: Callable[[str], None]
) -> None:
    meanwhile(carried_out())
    plan = tiercel("cache", "plan", there.volume.key, "--size", "1G", "--json").data["key"]
    unconfirmed = tiercel("cache", "apply", plan)
    assert unconfirmed.code == ExitCode.USAGE and "--yes" in unconfirmed.error
    typed("n\n")
    refused = tiercel("cache", "apply", plan)
    assert refused.code == ExitCode.INTERRUPTED
    assert "lvconvert -y --type cache" in refused.error
    assert Job.objects.count() == 1
    typed("y\n")
    assert tiercel("cache", "apply", plan).code == 0
    assert Job.objects.filter(dry_run=False).count() == 1


def test_the_same_key_applies_a_plan_once(
    tiercel: Tiercel, there: Scene, meanwhile: Meanwhile
) -> None:
    meanwhile(carried_out())
    plan = tiercel("cache", "plan", there.volume.key, "--size", "1G", "--json").data["key"]
    apply = ("cache", "apply", plan, "--yes", "--json", "--idempotency-key", "order-1")
    keys = {tiercel(*apply).data["key"] for _ in range(2)}
    assert (len(keys), Job.objects.filter(dry_run=False).count()) == (1, 1)


def test_a_cache_is_removed_after_its_plan_was_shown(
    tiercel: Tiercel, admin: User, meanwhile: Meanwhile
) -> None:
    there = scene(make.lv(cache=make.dm_cache(POOL)))
    meanwhile(carried_out(), carried_out())
    removed = tiercel("cache", "remove", there.volume.key, "--yes", "--wait")
    assert removed.code == 0, removed.error
    assert "succeeded" in removed.out
    assert [each.dry_run for each in Job.objects.order_by("id")] == [True, False]


def test_a_cache_that_is_so_already_is_no_job(tiercel: Tiercel, there: Scene) -> None:
    for command in (("cache", "remove", "--yes"), ("cache", "plan", "--none")):
        ran = tiercel(*command, there.volume.key)
        assert (ran.code, Job.objects.count()) == (0, 0)
        assert "there is nothing to do" in ran.out


@pytest.mark.parametrize(
    "arguments", [(), ("--size", "1G", "--none"), ("--none", "--mode", "writeback")]
)
def test_a_plan_is_for_a_size_or_for_none(
    tiercel: Tiercel, there: Scene, arguments: tuple[str, ...]
) -> None:
    refused = tiercel("cache", "plan", there.volume.key, *arguments)
    assert (refused.code, Job.objects.count()) == (ExitCode.USAGE, 0)


def test_a_plan_that_is_refused_says_why(
    tiercel: Tiercel, there: Scene, meanwhile: Meanwhile
) -> None:
    error = {"code": "no_space", "message": "The SSD is full.", "correction": "Add an SSD."}
    meanwhile(carried_out(State.FAILED, error=error))
    refused = tiercel("cache", "plan", there.volume.key, "--size", "1G")
    assert refused.code == ExitCode.FAILED
    assert "The SSD is full. (no_space)" in refused.error and "Add an SSD." in refused.error


def test_a_volume_that_is_held_by_another_job_is_in_the_way(
    tiercel: Tiercel, there: Scene, meanwhile: Meanwhile
) -> None:
    meanwhile(carried_out())
    plan = tiercel("cache", "plan", there.volume.key, "--size", "1G", "--json").data["key"]
    holder = job(there)
    refused = tiercel("cache", "apply", plan, "--yes")
    assert refused.code == ExitCode.IN_THE_WAY
    assert holder.key in refused.error


def test_a_cache_is_planned_in_a_window(
    tiercel: Tiercel, admin: User, meanwhile: Meanwhile
) -> None:
    cached = scene(make.lv(cache=make.dm_cache(POOL)))
    meanwhile(carried_out())
    night = ("--window", "22:00-23:00")
    planned = tiercel("cache", "plan", cached.volume.key, "--none", *night, "--json")
    assert (planned.code, planned.data["window"]["start"]) == (0, "22:00")
    meanwhile(carried_out())
    shown = tiercel("cache", "plan", cached.volume.key, "--none", *night)
    assert "Starts " in shown.out and "at the latest." in shown.out

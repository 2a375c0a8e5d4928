"""Traces at the command line, at a live panel."""

from __future__ import annotations

import pytest
from django.utils import timezone

from panel.cli.exit_codes import ExitCode
from panel.models import User
from storage.models import HeatTrace
from tests.heat_scene import counting_scene
from tests.panel.cli.conftest import Tiercel
from tests.trace_scene import count_trace

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_trace_is_asked_for_listed_and_shown(tiercel: Tiercel, admin: User) -> None:
    here = counting_scene()
    asked = tiercel("volumes", "trace", here.volume.key, "--minutes", "5")
    assert asked.code == 0 and "wanted" in asked.out and "tiercel api DELETE" in asked.out
    again = tiercel("volumes", "trace", here.volume.key)
    assert again.code == ExitCode.REFUSED and "being traced" in again.error
    [row] = tiercel("volumes", "traces", here.volume.key, "--json").data
    assert tiercel("api", "DELETE", f"/volumes/{here.volume.key}/traces/{row['key']}").code == 0
    assert "cancelled" in tiercel("volumes", "traces", here.volume.key).out


def test_a_trace_is_waited_for_and_shows_which_chunks_serve_most(
    tiercel: Tiercel, admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = counting_scene()
    monkeypatch.setattr("panel.cli.trace_commands.POLL_SECONDS", 0.05)
    late = tiercel("volumes", "trace", here.volume.key, "--wait", "--timeout", "0.1")
    assert late.code == ExitCode.WAITED_TOO_LONG and "Waiting for the host." in late.error
    HeatTrace.objects.all().delete()

    def end_it(seconds: float) -> None:
        made = HeatTrace.objects.get()
        begun = timezone.now()
        until_ns = int(begun.timestamp() + 900) * 10**9
        HeatTrace.objects.update(begun_at=begun, until_ns=until_ns)
        made.refresh_from_db()
        count_trace(made)

    monkeypatch.setattr("panel.cli.trace_commands.sleep", end_it)
    shown = tiercel("volumes", "trace", here.volume.key, "--wait")
    assert shown.code == 0 and "CHUNKS OF 4 KiB" in shown.out and "MOST" in shown.out
    key = HeatTrace.objects.get().key
    assert tiercel("volumes", "traces", here.volume.key, "--show", key).out == shown.out


def test_a_trace_that_failed_ends_with_its_reason(
    tiercel: Tiercel, admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = counting_scene()

    def fail(seconds: float) -> None:
        HeatTrace.objects.update(state="failed", message="It could not begin.")

    monkeypatch.setattr("panel.cli.trace_commands.sleep", fail)
    failed = tiercel("volumes", "trace", here.volume.key, "--wait")
    assert failed.code == ExitCode.FAILED and "It could not begin." in failed.error

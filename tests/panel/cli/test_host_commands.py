"""`tiercel hosts` at a live panel."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.utils import timezone

from panel.cli.exit_codes import ExitCode
from panel.models import User
from storage.models import Host
from tests.allocation_scene import OVERSIZED, WAITING, Part, allocation_scene
from tests.panel.cli.conftest import Tiercel
from tests.scene import Scene
from tests.storage.analysis.advice.load import sampled_days

pytestmark = pytest.mark.django_db(transaction=True)


def test_hosts_are_listed_and_shown_by_name(tiercel: Tiercel, there: Scene) -> None:
    listed = tiercel("hosts", "list", "--site", "Hel 1")
    assert listed.code == 0 and there.host.key in listed.out
    assert tiercel("hosts", "list", "--site", "Berlin").out == "No hosts.\n"
    shown = tiercel("hosts", "show", "web1")
    assert there.host.key in shown.out and "vg0" in shown.out
    assert tiercel("hosts", "show", "web9").code == ExitCode.NOT_FOUND


def test_a_hosts_ssd_is_shown_with_what_is_proposed(tiercel: Tiercel, there: Scene) -> None:
    allocation_scene(WAITING, OVERSIZED, name="stor1")
    shown = tiercel("hosts", "allocation", "stor1")
    assert shown.code == 0
    assert "Divided anew, the same SSD would save 6.3 h to 7.7 h of waiting a day." in shown.out
    assert "archive" in shown.out and "16 GiB" in shown.out
    assert "One more SSD of 480 GB would save 1 h of waiting a day." in shown.out


def test_what_a_proposal_costs_is_below_zero_and_what_stays_saves_nothing(
    tiercel: Tiercel, there: Scene
) -> None:
    costly = replace(OVERSIZED, hours={0: -5, 4: -0.015, 16: 0})
    allocation_scene(costly, Part(label="notes", cache_gib=4), name="stor1")
    lines = tiercel("hosts", "allocation", "stor1").out.splitlines()
    (cut,) = [line for line in lines if line.startswith("archive")]
    assert "-59 s" in cut and "-49 s" in cut
    (kept,) = [line for line in lines if line.startswith("notes")]
    assert kept.split()[:7] == ["notes", "4", "GiB", "4", "GiB", "-", "-"]


def test_advice_says_what_is_known(tiercel: Tiercel, there: Scene) -> None:
    sampled_days(there.volume, 4, lambda _ts: 1, end=timezone.now())
    advice = tiercel("hosts", "advice", there.host.key)
    assert advice.code == 0, advice.error
    assert "What it reads again is not known yet." in advice.out


def test_hosts_in_no_state_to_ask_are_listed(tiercel: Tiercel, admin: User) -> None:
    Host.objects.all().delete()
    assert tiercel("hosts", "list").out == "No hosts.\n"

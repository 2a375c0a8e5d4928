"""`tiercel volumes` at a live panel."""

from __future__ import annotations

import pytest
from pytest_django.live_server_helper import LiveServer

from panel.cli.exit_codes import ExitCode
from tests import make
from tests.panel.cli.conftest import Tiercel, be
from tests.scene import Scene

pytestmark = pytest.mark.django_db(transaction=True)


def test_volumes_are_listed_and_found_by_their_external_id(tiercel: Tiercel, there: Scene) -> None:
    changed = tiercel("volumes", "set", there.volume.key, "--external-id", "vps-1012")
    assert "vps-1012" in changed.out
    listed = tiercel("volumes", "list", "--external-id", "vps-1012", "--json")
    assert [each["key"] for each in listed.data] == [there.volume.key]
    shown = tiercel("volumes", "show", "vps-1012")
    assert "web12 disk" in shown.out and "8 GiB" in shown.out
    missing = tiercel("volumes", "show", "vps-9")
    assert (missing.code, missing.out) == (ExitCode.NOT_FOUND, "")


def test_a_note_is_shown_line_by_line_and_removed(tiercel: Tiercel, there: Scene) -> None:
    shown = tiercel("volumes", "set", there.volume.key, "--note", "Ask Ann.\nThen call.")
    assert "note: Ask Ann.\nnote: Then call.\n" in shown.out
    assert "note" not in tiercel("volumes", "set", there.volume.key, "--note", "").out


def test_a_list_says_that_there_is_more(tiercel: Tiercel, there: Scene) -> None:
    for _ in range(2):
        make.placement(make.volume(), there.host)
    first = tiercel("volumes", "list", "--limit", "2", "--json")
    assert len(first.data) == 2
    cut_off = tiercel("volumes", "list", "--limit", "2")
    assert "--all" in cut_off.error and len(cut_off.out.splitlines()) == 3
    assert len(tiercel("volumes", "list", "--all", "--json").data) == 3


def test_an_error_of_the_panel_is_shown_with_what_to_do(tiercel: Tiercel, there: Scene) -> None:
    make.placement(make.volume(external_id="vps-1"), there.host)
    refused = tiercel("volumes", "set", there.volume.key, "--external-id", "vps-1")
    assert refused.code == ExitCode.IN_THE_WAY
    assert "(external_id_taken)" in refused.error
    assert "Use that volume, or another external id." in refused.error
    as_json = tiercel("volumes", "set", there.volume.key, "--external-id", "vps-1", "--json")
    assert (as_json.out, "external_id_taken" in as_json.error) == ("", True)


def test_a_token_for_reading_changes_nothing(
    tiercel: Tiercel, there: Scene, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    be(make.staff_user(), live_server, monkeypatch, scopes=("read",))
    refused = tiercel("volumes", "set", there.volume.key, "--label", "other")
    assert refused.code == ExitCode.NOT_ALLOWED and "volumes:write" in refused.error
    there.volume.refresh_from_db()
    assert there.volume.label == "web12 disk"


def test_without_a_curve_it_is_said_why(tiercel: Tiercel, there: Scene) -> None:
    curve = tiercel("volumes", "curve", there.volume.key)
    assert curve.code == 0, curve.error
    assert "its agent is too old to count heat" in curve.out


def test_figures_stand_beneath_each_other_with_their_times(tiercel: Tiercel, there: Scene) -> None:
    drawn = ("--from", "2026-11-23T08:00:00Z", "--to", "2026-11-23T09:00:00Z", "--points", "6")
    series = tiercel("volumes", "series", there.volume.key, *drawn)
    assert series.code == 0, series.error
    titles, first, *_ = series.out.splitlines()
    assert titles.startswith("UNTIL") and "HIT RATE" in titles
    assert first.startswith("2026-11-23 08:10:00Z")

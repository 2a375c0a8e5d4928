"""`tiercel panels`: the panels that a person knows, with their tokens."""

from __future__ import annotations

import os
from io import StringIO

import pytest
from pytest_django.live_server_helper import LiveServer

from panel.cli.exit_codes import ExitCode
from panel.models import ApiToken, User
from tests.panel.cli.conftest import Tiercel, be
from tests.scene import Scene

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_panel_is_added_with_a_token_that_is_never_an_argument(
    tiercel: Tiercel,
    admin: User,
    live_server: LiveServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    token = be(admin, live_server, monkeypatch)
    monkeypatch.delenv("TIERCEL_TOKEN")
    monkeypatch.delenv("TIERCEL_URL")
    monkeypatch.setattr("sys.stdin", StringIO(f"{token}\n"))
    added = tiercel("panels", "add", "berlin", live_server.url)
    assert (added.code, token in added.out + added.error) == (0, False)
    assert admin.email in added.out
    listed = tiercel("panels", "list")
    assert live_server.url in listed.out and "*" in listed.out
    assert token not in listed.out
    assert tiercel("whoami", "--json").data["user"] == admin.email
    assert "expires" in tiercel("whoami").out
    assert tiercel("whoami", "--panel", "paris").code == ExitCode.USAGE
    assert tiercel("panels", "remove", "berlin").code == 0
    assert tiercel("whoami").code == ExitCode.USAGE


def test_a_panel_that_does_not_know_the_token_is_not_added(
    tiercel: Tiercel, admin: User, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERCEL_TOKEN", "tcl_abcdefghijkl.wrong")
    refused = tiercel("panels", "add", "berlin", live_server.url)
    assert refused.code == ExitCode.NOT_ALLOWED
    assert "/tokens/" in refused.error
    monkeypatch.delenv("TIERCEL_TOKEN")
    assert tiercel("panels", "list", "--json").data == []


def test_a_token_that_was_revoked_is_said_to_be(tiercel: Tiercel, there: Scene) -> None:
    ApiToken.objects.update(revoked_at=there.host.created_at)
    refused = tiercel("volumes", "list")
    assert (refused.code, refused.out) == (ExitCode.NOT_ALLOWED, "")
    assert os.environ["TIERCEL_TOKEN"] not in refused.error

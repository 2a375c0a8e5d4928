"""`tiercel api`: any route."""

from __future__ import annotations

import pytest

from panel.cli.exit_codes import ExitCode
from tests.panel.cli.conftest import Tiercel
from tests.scene import Scene

pytestmark = pytest.mark.django_db(transaction=True)


def test_any_route_can_be_asked(tiercel: Tiercel, there: Scene) -> None:
    wish = tiercel("api", "GET", f"/volumes/{there.volume.key}/wish", "--include").data
    assert wish["status"] == 200
    etag = next(value for name, value in wish["headers"].items() if name.lower() == "etag")
    put = ("api", "PUT", f"/volumes/{there.volume.key}/wish?dry_run=true", "-d")
    body = '{"cache": {"size_bytes": 1073741824}}'
    assert tiercel(*put, body, "--if-match", '"other"').code == ExitCode.IN_THE_WAY
    assert tiercel(*put, body, "--if-match", etag).data["dry_run"] is True
    assert tiercel(*put, "{").code == ExitCode.USAGE
    assert tiercel("api", "GET", "https://elsewhere.example.org/").code == ExitCode.USAGE
    assert tiercel("api", "GET", "/volumes/?limit=0").code == ExitCode.REFUSED
    slashless = tiercel("api", "GET", "/volumes?limit=1")
    assert slashless.code == ExitCode.NOT_FOUND and "/volumes/?limit=1" in slashless.error

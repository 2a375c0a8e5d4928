"""A host on which a reader hangs: its record says so, for as long as it does."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from jobs import collector
from jobs.hosts import refresh
from storage.models import Host
from tests.fake.fixtures import enrolled_fake_host, fake_host, fake_server, make_fake_host
from tests.fake.host import FakeHost

__all__ = ["enrolled_fake_host", "fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db


def test_the_record_names_the_command_that_hangs(
    enrolled_fake_host: Host, fake_host: FakeHost, settings: Settings
) -> None:
    settings.TIERCEL_SAMPLE_SECONDS = 2
    host = enrolled_fake_host
    fake_host.hang_next("lvm")
    assert not refresh.refresh(host)
    host.refresh_from_db()
    assert host.error["code"] == "stuck"
    assert collector.collect(0) == collector.CollectionRound(failed=1)
    host.refresh_from_db()
    assert host.error["code"] == "stuck"
    assert "hangs" in host.error["message"] and "dmesg" in host.error["correction"]
    assert "stuck" in [problem["code"] for problem in host.problems]
    fake_host.unhang()
    assert refresh.refresh(host)
    host.refresh_from_db()
    assert host.error == {}

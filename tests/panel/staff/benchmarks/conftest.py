"""A host on which benchmarks may run, and people of the staff."""

from __future__ import annotations

import pytest
from django.test import Client

from storage.byte_sizes import GIB
from storage.models import Host
from tests import make
from tests.scene import Scene, scene


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


@pytest.fixture
def there() -> Scene:
    """Root allows 64 GiB, and has installed fio."""
    made = scene()
    said = {"quota_bytes": 64 * GIB, "fio": "3.33"}
    Host.objects.filter(pk=made.host.pk).update(
        hello={"policy": {"vgs": ["vg0"]}, "benchmarks": said}
    )
    made.host.refresh_from_db()
    return made

"""What a person clicks, from an empty group to a cache and back, on the fake host.

The worker's part is done by calling the runner; everything else goes through pages and forms.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from jobs.engine import operation, runner
from jobs.hosts.refresh import refresh
from jobs.models import Job
from jobs.transport import new_key_pair
from jobs.transport.key_encryption import seal
from storage.byte_sizes import GIB
from storage.models import Host, Volume
from tests import make
from tests.fake.fixtures import fake_host, fake_server, make_fake_host
from tests.fake.server import FakeServer

__all__ = ["fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation, "POLL_SECONDS", (0.01, 0.05))


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


@pytest.fixture
def host(fake_server: FakeServer) -> Host:
    private_key, public_key = new_key_pair()
    fake_server.authorize(public_key)
    host = make.host(
        port=fake_server.port,
        host_key=fake_server.host_key,
        sealed_key=seal(private_key),
        machine_id=fake_server.host.machine.machine_id,
    )
    assert refresh(host), host.error
    host.refresh_from_db()
    return host


def worked(response: Any) -> Job:
    """Let a worker do the job that an answer leads to."""
    assert response.status_code == 302, response.content.decode()
    job = Job.objects.get(key=response["Location"].rstrip("/").split("/")[-1])
    for _ in range(30):
        Job.objects.filter(pk=job.pk).update(not_before=None)
        runner.run(job.pk)
        job.refresh_from_db()
        if job.is_over:
            break
    assert job.state == "succeeded", job.error
    return job


def confirmed(client: Client, response: Any) -> tuple[list[str], Job]:
    """Read the preview, press its button, and return the commands shown and the job."""
    preview = worked(response)
    text = client.get(reverse("job", args=[preview.key])).content.decode()
    shown = re.findall(r'<pre class="command[^>]*><code>(.*?)</code>', text, re.DOTALL)
    assert shown
    assert "Confirm and run" in text
    return shown, worked(client.post(reverse("preview-apply", args=[preview.key])))


@pytest.mark.parametrize("layout", ["plain", "bcache"])
def test_a_volume_is_made_cached_switched_and_uncached_by_clicks(
    staff: Client, host: Host, layout: str
) -> None:
    assert host.inventory is not None
    form = {
        "label": "web12 <b>disk</b>",
        "new_customer": "Lindqvist & Sons",
        "size": 1,
        "unit": "GiB",
        "group": f"{host.key}/{host.inventory.vgs[0].uuid}",
        "layout": layout,
    }
    shown, made = confirmed(staff, staff.post(reverse("volume-new"), form))
    assert "lvcreate" in shown[0]
    volume = Volume.objects.get(pk=made.volume_id)
    assert volume.managed
    url = reverse("volume", args=[volume.key])
    technology = "bcache" if layout == "bcache" else "lvmcache"
    cache_form = reverse("cache-form", args=[volume.key])
    assert "Add a cache" in staff.get(url).content.decode()
    assert f"<strong>{technology}</strong>" in staff.get(cache_form).content.decode()

    data: dict[str, Any] = {"size_bytes": GIB, "mode": "writethrough"}
    shown, made = confirmed(staff, staff.post(cache_form, data))
    text = staff.get(reverse("job", args=[made.key])).content.decode()
    for line in "\n".join(shown).splitlines():
        assert line in text, "what runs is what was confirmed"
    assert "<dd>writethrough</dd>" in staff.get(url).content.decode()

    confirmed(staff, staff.post(cache_form, {"mode": "writeback"}))
    assert "<dd>writeback</dd>" in staff.get(url).content.decode()

    confirmed(staff, staff.post(reverse("cache-remove", args=[volume.key])))
    assert "Add a cache" in staff.get(url).content.decode()

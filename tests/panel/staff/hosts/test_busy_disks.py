"""Who kept a host's disks busy: the part of its page for a moment."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests import make
from tests.scene import scene

pytestmark = pytest.mark.django_db


def test_a_click_on_a_chart_gets_the_part_alone(client: Client) -> None:
    there = scene()
    client.force_login(make.staff_user())
    at = timezone.now().isoformat()
    response = client.get(reverse("host-who", args=[there.host.key]), {"at": at})
    text = response.content.decode()
    assert response.status_code == 200
    assert "<html" not in text and 'id="who"' in text

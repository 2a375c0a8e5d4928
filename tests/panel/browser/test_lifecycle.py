"""The end of a volume in a browser: the pages fit, and the typed label leads to the preview."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Browser

from jobs.models import Job
from storage.models import Volume
from tests.jobs.engine.test_lifecycle import off
from tests.panel.browser.chromium import WIDE, browser, served, signed_in
from tests.scene import LONG

__all__ = ["browser", "served"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_retired_volume_is_destroyed_by_its_typed_label(browser: Browser, served: str) -> None:
    there = off()
    Volume.objects.filter(pk=there.volume.pk).update(label=LONG)
    context = browser.new_context(viewport={"width": 360, "height": 800}, color_scheme="dark")
    page, complaints = signed_in(context, served)
    page.goto(served + reverse("volume", args=[there.volume.key]))
    assert page.evaluate(WIDE) == []
    page.locator("#volume-menu > summary").click()
    page.get_by_role("link", name="Destroy").click()
    assert page.evaluate(WIDE) == []
    page.get_by_label("Label of the volume").fill("something else")
    page.get_by_role("button", name="Preview destruction").click()
    page.get_by_text("The label does not match.").wait_for()
    assert page.evaluate(WIDE) == []
    page.get_by_label("Label of the volume").fill(LONG)
    page.get_by_role("button", name="Preview destruction").click()
    page.wait_for_url(f"{served}/jobs/*/")
    assert Job.objects.get().kind == "destroy-volume"
    # A refused form is answered with 422, which the browser notes as an error.
    assert [said for said in complaints if "422" not in said] == []
    context.close()

"""The parts of pages (docs/ui-parts.md): each says in text what it shows by colour or length."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from django.template.loader import render_to_string
from django.utils import timezone

from jobs.models import State
from panel.charts import sparkline
from panel.staff.dashboard.attention import Remedy
from panel.templatetags.chips import chip, spark
from tests.scene import job, scene

GIB = 1 << 30
TWELVE_SECONDS = timedelta(seconds=12)


def part(name: str, **context: object) -> str:
    return " ".join(render_to_string(f"parts/{name}.html", context).split())


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


OPEN = Remedy("/hosts/", "Open the hosts")


@dataclass
class Subject:
    name: str
    url: str


@dataclass
class Item:
    severity: str = "error"
    what: str = "2 hosts are silent"
    subjects: tuple[Subject, ...] = (Subject("h1", "/hosts/h1/"), Subject("h2", "/hosts/h2/"))
    more: int = 0
    since: datetime | None = None
    until: datetime | None = None
    consequence: str = "Their figures are old."
    next_step: str = "Look at the network."
    action: Remedy = OPEN


def test_a_chip_has_tone_icon_and_text() -> None:
    html = chip(tone="warning", icon="key", text="<b>to accept")
    assert 'class="chip chip-warning"' in html
    assert "<svg" in html
    assert words(html) == "&lt;b&gt;to accept"


def test_a_usage_bar_has_its_figures_under_it() -> None:
    html = part("usage", label="SSD", used_bytes=3 * GIB, total_bytes=8 * GIB, reserved_bytes=GIB)
    assert 'width="37.5%"' in html
    assert 'x="37.5%"' in html
    assert words(html) == "SSD 37.5 % 3 GiB of 8 GiB 5 GiB free (1 GiB reserved)"
    assert 'aria-label="SSD: 3 GiB of 8 GiB used, 1 GiB reserved"' in html


def test_a_usage_bar_of_unknown_space_shows_no_zero() -> None:
    said = words(part("usage", label="SSD", used_bytes=None, total_bytes=None))
    assert said == "SSD - - of - - free"


def test_an_empty_state_says_what_to_do_next() -> None:
    html = part("empty", title="No host", text="Add one.", action_url="/new", action_text="Add")
    assert words(html) == "No host Add one. Add"
    assert 'href="/new"' in html
    assert "<a" not in part("empty", title="No host", text="Wait.")


def test_a_sparkline_is_read_out_with_its_label() -> None:
    html = spark(sparkline.spark([1.0, 2.0, None, 2.0]), "<Hits>")
    assert 'aria-label="&lt;Hits&gt;: from 1 to 2, last 2, 1 of 4 data points missing"' in html
    assert html.count("<polyline") == 1
    assert html.count("<circle") == 1


def test_a_chart_of_the_cache_is_hidden_until_there_is_one() -> None:
    panel = {"title": "Hit rate", "json": "{}", "axes": ("percent", "count"), "known": ["Reads"]}
    with_one = part("chart_card", panel=panel, step_words="1 min")
    assert words(with_one) == "Hit rate last (1 min) CSV PNG Reads"
    assert re.search(r'data-panel-axes="2"\s*>', with_one)
    assert 'tabindex="0" role="group" aria-label="Hit rate; the arrow keys' in with_one
    without = part("chart_card", panel={**panel, "is_hidden": True})
    assert re.search(r'data-panel-axes="2"\s+hidden>', without)


def test_what_needs_attention_says_where_why_since_when_and_leads_on() -> None:
    html = part("attention", item=Item(more=38, since=timezone.now() - timedelta(hours=2)))
    said = words(html)
    assert said.startswith("error: 2 hosts are silent h1 , h2 and 38 more")
    assert "Their figures are old. Look at the network." in said
    assert "2 h" in said
    assert said.endswith("Open the hosts")
    assert 'aria-label="Open the hosts: 2 hosts are silent"' in html
    assert 'href="/hosts/h1/"' in html
    assert 'href="/hosts/"' in html


def test_an_unknown_moment_and_a_rest_of_none_are_left_out() -> None:
    said = words(part("attention", item=Item()))
    assert "more" not in said
    assert " min" not in said


@pytest.mark.django_db
def test_a_job_row_names_volume_host_state_and_time() -> None:
    done = job(scene())
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    done.state, done.started_at, done.ended_at = State.SUCCEEDED, begun, begun + TWELVE_SECONDS
    said = words(part("job_row", job=done))
    assert done.volume.label in said
    assert done.host.name in said
    assert "succeeded" in said
    assert "took 12 s" in said

"""Charts in a real browser: they draw, renew themselves, follow the theme and obey the policy."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connections
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from jobs import notify_workers
from jobs.models import Job
from panel.accounts import people
from storage.metrics.samples.sample_round import make_partition
from storage.models import Sample
from tests import make
from tests.panel.browser.chromium import PASSWORD, signed_in
from tests.panel.browser.chromium import browser as browser
from tests.scene import Scene, end, job, scene
from tests.storage import wire
from tests.storage.metrics.samples.rounds import take

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SEEN = """() => [...document.querySelectorAll(
  "figure:not([hidden], [data-folded], [data-bare]) canvas")].map((canvas) => {
  const chart = Chart.getChart(canvas);
  if (!chart) return null;
  const { width, height } = canvas;
  const pixels = canvas.getContext("2d").getImageData(0, 0, width, height).data;
  return {
    title: canvas.closest("figure").querySelector(".chart-title").textContent,
    painted: pixels.some((value) => value !== 0),
    lines: chart.data.datasets.map((set) => set.label),
    nulls: chart.data.datasets[0].data.filter((point) => point.y === null).length,
    known: chart.data.datasets[0].data.filter((point) => point.y !== null).length,
    marks: chart.options.plugins.lanes.list.length,
    axes: Object.values(chart.options.scales).map((axis) => axis.title.text),
    limits: [chart.scales.x.min, chart.scales.x.max],
    top: chart.scales.y0.max,
    labels: Object.values(chart.scales)
      .filter((scale) => scale.axis === "y")
      .map((scale) => scale.ticks.map((tick) => tick.label)),
    colour: chart.options.scales.x.ticks.color,
    said: canvas.getAttribute("aria-label"),
  };
})"""


@pytest.fixture
def served(live_server: LiveServer, settings: Settings) -> Iterator[str]:
    """The panel's address, with a person who may sign in."""
    settings.TIERCEL_SAMPLE_SECONDS = 10
    people.add(email="ann@example.org", password=PASSWORD, staff_role="admin")
    yield live_server.url
    connections.close_all()


def sampled(*, cached: bool, quiet: bool = False) -> Scene:
    """Half an hour of a guest, with five minutes of silence in the middle; the cache, if any, came
    by a job after ten minutes and warms. A `quiet` guest reads little."""
    cache = make.dm_cache("c-aaaaaaaaaaaaaaaa")
    there = scene(make.lv(cache=cache if cached else None))
    now = timezone.now()
    reads = hits = misses = read_ms = quick = slow = 0
    for n in range(181):
        warm = max(0.0, min(0.97, (n - 60) / 60)) if cached else 0.0
        more = 50 if quiet else 1500 + 400 * (n % 7) + round(18_000 * warm)
        reads, read_ms = reads + more, read_ms + round(more * (6 * (1 - warm) + 0.2))
        disk = wire.disk(
            reads=reads, read_sectors=16 * reads, read_ms=read_ms, writes=40 * n,
            write_sectors=40 * 64 * n, write_ms=40 * 9 * n,
        )  # fmt: skip
        quick, slow = quick + round(more * warm), slow + more - round(more * warm)
        fields: dict[str, Any] = {"disk": disk, "latency": wire.latency(0, quick, 0, 0, 0, 0, slow)}
        if cached and n >= 60:
            hits, misses = hits + round(more * warm), misses + round(more * (1 - warm))
            fields["cache"] = wire.cache(
                read_hits=hits, read_misses=misses, used=min(30_000, 300 * (n - 60)), dirty=n % 50
            )
        if not 90 < n <= 120:
            seconds = 10 * n
            take(
                there.host, seconds, wire.volume(there.lv.uuid, **fields),
                start=now - timedelta(seconds=1800),
            )  # fmt: skip
    if cached:
        made = job(there)
        end(made)
        Job.objects.filter(pk=made.pk).update(started_at=now - timedelta(seconds=1200))
    return there


def opened(context: BrowserContext, served: str, there: Scene, span: str) -> tuple[Page, list[str]]:
    """The volume's page with its charts drawn, and what the browser complains of."""
    page, complaints = signed_in(context, served)
    page.goto(f"{served}{reverse('volume', args=[there.volume.key])}?range={span}")
    page.locator("[data-charts-panels][aria-busy=false]").wait_for()
    seen = page.evaluate(SEEN)
    assert seen and all(seen), "every chart that is shown is drawn"
    return page, complaints


@pytest.mark.parametrize("width", [360, 1440])
def test_months_of_a_year_are_named_with_it_at_the_first_and_at_january(
    browser: Browser, served: str, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900})
    page, complaints = opened(context, served, sampled(cached=False), "1y")
    first, *others = page.evaluate(
        "Object.values(Chart.instances)[0].scales.x.ticks.map((tick) => tick.label)"
    )
    assert re.fullmatch(r"1 [A-Z][a-z]+ 20\d\d", first)
    assert others
    for each in others:
        assert ("20" in each) == ("Jan" in each), each
    assert not complaints


def test_charts_draw_on_any_screen_in_the_colours_of_the_theme_and_obey_the_policy(
    browser: Browser, served: str
) -> None:
    there = sampled(cached=True)
    context = browser.new_context(
        viewport={"width": 360, "height": 900}, color_scheme="dark", timezone_id="Europe/Berlin"
    )
    page, complaints = opened(context, served, there, "1h")
    assert page.evaluate("document.documentElement.dataset.bsTheme") == "dark"
    seen = page.evaluate(SEEN)
    assert [panel["title"] for panel in seen] == [
        "IOPS and latency",
        "Latency of reads and writes",
        "Hit rate",
        "Cache contents",
        "Bypass and metadata",
    ]
    assert all(panel["painted"] for panel in seen)
    assert [panel["marks"] for panel in seen] == [1, *[0] * (len(seen) - 1)]
    page.get_by_text("Jobs, restarts and alerts in this period").click()
    assert "Add cache, " in page.locator("[data-charts-marks] li").inner_text()
    assert len({tuple(panel["limits"]) for panel in seen}) == 1
    operations, latencies, hits, contents, *_others = seen
    assert operations["lines"] == ["Reads", "Writes", "Read latency", "Write latency"]
    assert operations["known"] == 150
    assert operations["nulls"] == 360 - operations["known"]
    assert hits["lines"] == ["Read hit rate", "Read accesses", "Write accesses"]
    assert hits["top"] == 100
    assert contents["axes"][0] == "GiB"
    assert hits["labels"][0] == ["0", "50", "100"]
    assert latencies["lines"] == ["p50", "p95", "p99"]
    assert latencies["labels"] == [["0.1", "1", "10", "100", "1,000"]]
    others = [panel for panel in seen if panel is not latencies]
    assert all(len(labels) == 3 for panel in others for labels in panel["labels"])
    assert hits["said"].startswith("Hit rate. Last: Read hit rate 97\xa0%")
    assert page.get_by_text("Times in UTC+").is_visible()
    assert page.locator("[data-charts-marks] a").all_inner_texts() == ["Add cache"]
    dark = seen[0]["colour"]
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.emulate_media(color_scheme="light")
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "light")
    seen = page.evaluate(SEEN)
    light = seen[0]["colour"]
    assert light != dark
    assert all(panel["painted"] for panel in seen)
    page.locator("summary", has_text="Account").click()
    for _ in ("light", "dark"):
        page.locator("[data-theme-switch]").click()
    assert page.evaluate("document.documentElement.dataset.bsTheme") == "dark"
    assert page.evaluate(SEEN)[0]["colour"] == dark
    assert complaints == []
    context.close()


def test_charts_are_drawn_where_the_browser_stores_nothing(browser: Browser, served: str) -> None:
    context = browser.new_context()
    context.add_init_script(
        """Object.defineProperty(window, "localStorage", {
          get() { throw new DOMException("blocked", "SecurityError"); },
        });"""
    )
    page, complaints = opened(context, served, sampled(cached=False), "1h")
    page.locator("[data-fold]").first.click()
    assert page.locator("figure[data-folded]").count() > 0
    assert complaints == []
    context.close()


def test_the_range_is_in_the_url_and_survives_a_reload(browser: Browser, served: str) -> None:
    there = sampled(cached=False)
    context = browser.new_context()
    page, complaints = opened(context, served, there, "15m")
    page.get_by_role("link", name="6\xa0h").click()
    page.wait_for_url("**?range=6h#charts")
    page.reload()
    page.locator("[data-charts-panels][aria-busy=false]").wait_for()
    assert page.locator("#charts [aria-current=true]").inner_text() == "6\xa0h"
    seen = page.evaluate(SEEN)
    titles = [panel["title"] for panel in seen]
    assert titles == ["IOPS and latency", "Latency of reads and writes"]
    low, high = seen[0]["limits"]
    assert high - low == 6 * 3_600_000
    assert complaints == []
    context.close()


CROWDED = """() => Object.values(Chart.instances).flatMap((chart) =>
  Object.values(chart.scales).filter((scale) => {
    if (scale.axis !== "y") return false;
    const { ticks, grid, title } = scale.options;
    const { size } = Chart.defaults.font;
    const labels = scale._labelSizes.widest.width + ticks.padding;
    const room = scale.width - 1.2 * size - 2 * title.padding;
    chart.ctx.font = `${size}px ${Chart.defaults.font.family}`;
    return labels + (grid.drawTicks ? grid.tickLength : 0) > room
      || chart.ctx.measureText(title.text).width > scale.height;
  }).map((scale) => scale.options.title.text))"""
"""The titles of axes that touch their labels, or reach into the next axis."""
STRENGTHS = """([moment, classes]) => {
  const figure = [...document.querySelectorAll("figure")].find((each) =>
    each.querySelector(".chart-title").textContent === "Latency of reads and writes");
  const canvas = figure.querySelector("canvas");
  const { x, y0 } = Chart.getChart(canvas).scales;
  const scale = canvas.width / canvas.clientWidth;
  const context = canvas.getContext("2d");
  const at = x.getPixelForValue(moment) * scale;
  return classes.map((level) => {
    const height = y0.getPixelForValue(level + 0.5) * scale;
    return context.getImageData(Math.round(at), Math.round(height), 1, 1).data[3];
  });
}"""
"""How strong the colour of a class of latencies is at a moment, in milliseconds since 1970."""


def test_the_map_of_latencies_is_drawn_where_io_was_and_described_in_words(
    browser: Browser, served: str
) -> None:
    there = sampled(cached=True)
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page, complaints = opened(context, served, there, "1h")
    page.locator("[data-line]").evaluate_all(
        "lines => lines.filter(({ dataset }) => dataset.line.startsWith('latency'))"
        ".forEach((line) => line.click())"
    )
    # Of the samples, not of the clock: the page may have taken long to come.
    last = Sample.objects.latest("ts").ts

    def strengths(seconds_before: int) -> list[int]:
        moment = (last - timedelta(seconds=seconds_before)).timestamp() * 1000
        found: list[int] = page.evaluate(STRENGTHS, [moment, [1, 4, 6]])
        return found

    quick, none, slow = strengths(300)
    assert quick > 50 > none and quick > slow > none
    silent = strengths(750)
    assert len(set(silent)) == 1 and silent[0] < slow, "the host was silent: at most a grid line"
    words = page.locator("figure", has_text="Latency of reads and writes").locator(".chart-words")
    expect(words).to_have_text(re.compile(r"Most common: 0.1 to 0.2\sms \(9[67]\s% of I/O\)"))
    assert page.evaluate(CROWDED) == []
    tops = page.locator("figure:not([hidden])").evaluate_all(
        "figures => figures.map((figure) => figure.getBoundingClientRect().top)"
    )
    assert tops[0] == tops[1] < tops[2], "two beside each other"
    assert complaints == []
    context.close()


def test_a_volume_at_rest_draws_one_chart_and_no_zeros(browser: Browser, served: str) -> None:
    there = scene(make.lv())
    for n in range(30):
        disk, latency = wire.disk(), wire.latency(0, 0, 0, 0, 0, 0, 0)
        lv = wire.volume(there.lv.uuid, disk=disk, latency=latency)
        take(there.host, 10 * n, lv, start=timezone.now() - timedelta(seconds=300))
    context = browser.new_context()
    page, complaints = opened(context, served, there, "15m")
    assert [panel["title"] for panel in page.evaluate(SEEN)] == ["IOPS and latency"]
    lacking = page.locator("[data-charts-lacking]")
    expect(lacking).to_contain_text(
        "Not shown, no reads or writes in this period: Latency of reads"
    )
    expect(lacking).to_contain_text("Not shown, no cache in this period: Hit rate, Cache contents")
    assert complaints == []
    context.close()


BAND = """() => {
  const chart = Chart.getChart(document.querySelector("figure:not([hidden]) canvas"));
  const { datasets } = chart.data;
  const of = (name) => datasets.find((set) => set.name === name);
  const n = datasets[0].data.findLastIndex((point) => point.y !== null);
  const points = [of("read_iops least"), datasets[0], of("read_iops most")];
  const { width, height } = chart.canvas;
  const scale = width / chart.canvas.clientWidth;
  const x = Math.round(chart.scales.x.getPixelForValue(datasets[0].data[n - 5].x) * scale);
  const y = Math.round(chart.scales.y0.getPixelForValue((points[1].data[n - 5].y
    + points[2].data[n - 5].y) / 2) * scale);
  const { data } = chart.canvas.getContext("2d").getImageData(x, y, 1, 1);
  return { values: points.map((set) => set.data[n - 5].y), strength: data[3] };
}"""


def test_a_band_reaches_from_the_least_to_the_most_of_the_samples_of_a_point(
    browser: Browser, served: str
) -> None:
    there = sampled(cached=False)
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page, complaints = opened(context, served, there, "6h")
    band = page.evaluate(BAND)
    least, average, most = band["values"]
    assert least < average < most
    assert 0 < band["strength"] < 255, "between the line and its band's edge it is pale"
    assert complaints == []
    context.close()


def test_the_live_view_shows_each_second_as_it_comes(
    browser: Browser, served: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = sampled(cached=True)
    monkeypatch.setattr(notify_workers, "send", lambda task, pk, queue="": True)
    context = browser.new_context()
    page, complaints = opened(context, served, there, "15m")
    page.get_by_role("button", name="Show live figures").click()
    expect(page.get_by_text("Starting live figures")).to_be_visible()
    for iops in (120, 340):
        seconds = [
            {"at": 0.0, "read_iops": 1.0 * iops - each, "write_iops": 7.0, "read_ms": 0.4}
            for each in (20, 10, 0)
        ]
        cache.set(f"live:{there.volume.pk}:view", {"seconds": seconds}, 30)
        expect(page.locator("#live .big-figure", has_text=str(iops)).first).to_be_visible()
    assert page.locator("#live svg").count() == 2
    assert complaints == []
    context.close()


def test_a_chart_that_was_folded_away_stays_so(browser: Browser, served: str) -> None:
    there = sampled(cached=True)
    context = browser.new_context()
    page, complaints = opened(context, served, there, "1h")
    contents = page.locator("figure", has_text="Cache contents")
    contents.get_by_role("button", name="Cache contents").click()
    expect(contents.locator("canvas")).to_be_hidden()
    page.reload()
    page.locator("[data-charts-panels][aria-busy=false]").wait_for()
    expect(contents.locator("canvas")).to_be_hidden()
    expect(page.locator("figure canvas").first).to_be_visible()
    fold = contents.get_by_role("button", name="Cache contents")
    expect(fold).to_have_attribute("aria-expanded", "false")
    fold.press("Enter")
    expect(contents.locator("canvas")).to_be_visible()
    assert all(panel and panel["painted"] for panel in page.evaluate(SEEN))
    assert complaints == []
    context.close()


def test_a_time_is_typed_in_local_time_or_in_utc_and_is_in_the_url(
    browser: Browser, served: str
) -> None:
    there = sampled(cached=False)
    context = browser.new_context(timezone_id="Asia/Kolkata")
    page, complaints = opened(context, served, there, "1h")
    half_hour_ago = (timezone.now() - timedelta(minutes=30)).replace(second=0, microsecond=0)
    for hours_ahead, clicked in ((5.5, False), (0, True)):
        if clicked:
            page.get_by_role("button", name="UTC").click()  # loads the page anew
            expect(page.get_by_text("Times in UTC", exact=True)).to_be_visible()
            assert "tz=utc" in page.url
            assert {each["value"] for each in context.cookies() if each["name"] == "zone"} == {
                "UTC"
            }
            page.locator("[data-charts-panels][aria-busy=false]").wait_for()
        page.get_by_text("Custom", exact=True).click()
        start = half_hour_ago + timedelta(hours=hours_ahead)
        page.locator("[data-charts-custom] [name=from]").fill(f"{start:%Y-%m-%dT%H:%M}")
        end_of_it = start + timedelta(minutes=10)
        page.locator("[data-charts-custom] [name=to]").fill(f"{end_of_it:%Y-%m-%dT%H:%M}")
        page.get_by_role("button", name="Show", exact=True).click()
        page.wait_for_url(f"**from={half_hour_ago:%Y-%m-%dT%H}%3A{half_hour_ago:%M}%3A00Z**")
    link = page.url
    page.get_by_role("button", name="UTC").click()
    expect(page.get_by_text("Times in UTC+05:30")).to_be_visible()
    assert "tz=local" in page.url
    page.goto(link)
    expect(page.get_by_text("Times in UTC", exact=True)).to_be_visible()
    assert complaints == []
    context.close()


def test_charts_renew_themselves_only_while_they_are_seen(browser: Browser, served: str) -> None:
    there = scene()
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    page.clock.install()
    with page.expect_response("**/series?range=15m"):
        page.goto(served + reverse("volume", args=[there.volume.key]))
    page.get_by_text("The first data point appears in about 20 s").wait_for()
    # What else asks again and again would time out: this clock runs ahead of the network.
    page.locator("[hx-trigger*=every]").evaluate_all("polled => polled.map(each => each.remove())")
    start = timezone.now() - timedelta(seconds=20)
    for n in range(3):
        disk = wire.disk(reads=1000 * n, read_sectors=8000 * n, read_ms=500 * n)
        take(there.host, 10 * n, wire.volume(there.lv.uuid, disk=disk), start=start)
    page.clock.run_for(10_000)
    page.locator("[data-charts-panels][aria-busy=false]").wait_for()
    assert page.get_by_text("100 reads and 0 writes per second on average").is_visible()
    assert not page.get_by_text("The first data point appears").is_visible()
    page.evaluate("Object.defineProperty(document, 'hidden', { value: true })")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.run_for(60_000)
    assert not [url for url in asked if "/series" in url]
    assert complaints == []
    context.close()


def test_legs_are_asked_for_only_while_their_charts_are_shown(
    browser: Browser, served: str
) -> None:
    there = scene(layout="bcache")
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    page.clock.install()
    read_from(there, caches=(None, None))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(served + reverse("volume", args=[there.volume.key]) + "?range=15m")
    page.locator("[data-charts-panels][aria-busy=false]").wait_for()
    page.locator("[hx-trigger*=every]").evaluate_all("polled => polled.map(each => each.remove())")
    asked.clear()
    with page.expect_response("**/series?range=15m"):
        page.clock.run_for(10_000)
    assert not [url for url in asked if "apart" in url]
    read_from(there, caches=(2**30, 2**30))
    with page.expect_response("**/series?range=15m&apart=1"):
        page.clock.run_for(10_000)
    assert complaints == []
    context.close()


def read_from(there: Scene, caches: tuple[int | None, ...]) -> None:
    """Intervals of the volume that ended just now, with caches of these sizes."""
    figures = dict.fromkeys(("writes", "read_sectors", "write_sectors", "read_ms", "write_ms"), 0)
    for n, size in enumerate(caches):
        at = timezone.now() - timedelta(seconds=10 * n)
        make_partition(at.date())
        Sample.objects.create(
            volume=there.volume, ts=at, dt_ms=10_000, reads=80, technology=2,
            cache_size_bytes=size, **figures,
        )  # fmt: skip


def test_the_table_and_the_words_are_there_without_javascript(
    browser: Browser, served: str
) -> None:
    there = sampled(cached=True)
    context = browser.new_context(java_script_enabled=False)
    page, _ = signed_in(context, served)
    page.goto(served + reverse("volume", args=[there.volume.key]))
    assert page.get_by_text("of reads came from SSD").is_visible()
    assert not page.locator("canvas").first.is_visible()
    page.get_by_role("link", name="Show as table").click()
    expect(page.get_by_text("Last 20 data points as a table")).to_be_visible()
    assert page.locator("#charts table").first.locator("tbody tr").count() == 20
    assert page.locator("#charts tbody").first.get_by_text("97 %").first.is_visible()
    context.close()


INKED = """async (base64) => {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const picture = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const { width, height } = picture;
  const context = new OffscreenCanvas(width, height).getContext("2d");
  context.drawImage(picture, 0, 0);
  const inked = (top, rows) => {
    const pixels = new Uint32Array(context.getImageData(0, top, width, rows).data.buffer);
    return pixels.filter((pixel) => pixel !== pixels[0]).length / pixels.length;
  };
  const canvas = document.querySelector("figure:not([hidden]) canvas");
  const scale = canvas.width / canvas.clientWidth;
  const rows = canvas.height;
  return {
    width, height, words: inked(0, height - rows), drawing: inked(height - rows, rows),
    least: [Math.floor((canvas.clientWidth + 24) * scale), rows + 64 * scale],
  };
}"""
"""Of a PNG: its size, the least it may have, and how much of its words and of its drawing is not
background."""


def test_a_chart_is_saved_as_a_picture_with_its_title_and_its_lines(
    browser: Browser, served: str
) -> None:
    there = sampled(cached=True)
    context = browser.new_context(
        viewport={"width": 1000, "height": 900}, device_scale_factor=2, accept_downloads=True
    )
    page, complaints = opened(context, served, there, "1h")
    with page.expect_download() as saving:
        page.locator("figure:not([hidden]) [data-chart-png]").first.click()
    assert saving.value.suggested_filename == f"{there.volume.key}-operations.png"
    picture = saving.value.path().read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    seen = page.evaluate(INKED, base64.b64encode(picture).decode())
    assert seen["width"] == seen["least"][0]
    assert seen["least"][1] <= seen["height"] <= seen["least"][1] + 200
    assert 0.002 < seen["words"] < 0.5
    assert 0.005 < seen["drawing"] < 0.5
    assert not complaints
    context.close()

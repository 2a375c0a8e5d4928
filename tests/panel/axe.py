"""axe-core in a page of a browser, and what else a page must not do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from playwright.sync_api import Page

GRAVE = ("serious", "critical")
SETTLED = """async () => {
  const ending = document.getAnimations().filter(
    (each) => each.effect.getComputedTiming().iterations !== Infinity
  );
  await Promise.allSettled(ending.map((each) => each.finished));
}"""
# Only the rule of a screen's orientation needs the style sheets, which are parsed anew each time.
RUN = """async ([grave, rules]) => {
  const {violations} = await axe.run(document, {
    resultTypes: ["violations"],
    preload: !rules.length && innerWidth < 768,
    ...(rules.length ? {runOnly: {type: "rule", values: rules}} : {}),
  });
  return violations.filter(({impact}) => grave.includes(impact)).map(({id, help, nodes}) =>
    `${id} (${help}): ${nodes.slice(0, 3).map(({html}) => html.slice(0, 160)).join(" | ")}`);
}"""
THEME = "(theme) => { document.documentElement.dataset.bsTheme = theme }"
OVERFLOW = """() => document.documentElement.scrollWidth > innerWidth
  ? [...document.querySelectorAll("body *")]
      .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
      .slice(0, 3).map((each) => each.outerHTML.slice(0, 160)).concat("the page is too wide")
  : []"""
# Every part that renews itself is asked to, all together; what moved of the page is the answer.
REFRESH = """async () => {
  const frames = () => new Promise((done) =>
    requestAnimationFrame(() => requestAnimationFrame(done)));
  const parts = [...document.querySelectorAll('[hx-trigger*="every"]')];
  const moved = [];
  const note = (entries) => entries.forEach((entry) => moved.push({
    value: entry.value,
    what: entry.sources.map(({node}) => node?.outerHTML?.slice(0, 120) ?? String(node)),
  }));
  const observer = new PerformanceObserver((list) => note(list.getEntries()));
  observer.observe({type: "layout-shift"});
  await frames();
  for (const part of parts) {
    if (!part.isConnected) continue;
    const ended = new Promise((done) =>
      document.addEventListener("htmx:finally:request", done, {once: true}));
    part.dispatchEvent(new CustomEvent("every"));
    await ended;
    await frames();
  }
  note(observer.takeRecords());
  return {parts: parts.length, moved};
}"""


def violations(page: Page, width: int, theme: str, rules: Sequence[str] = ()) -> list[str]:
    """What axe finds grave in the page at a width and in a theme (by all its rules, or by some),
    and what is too wide for it."""
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate(THEME, theme)
    page.evaluate(SETTLED)
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate((settings.NODE_MODULES / "axe-core" / "axe.min.js").read_text())
    found: list[str] = page.evaluate(RUN, [GRAVE, rules]) + page.evaluate(OVERFLOW)
    return [f"{width} {theme}: {each}" for each in found]


def too_wide(page: Page, width: int) -> list[str]:
    """What does not fit a window of so many pixels."""
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate(SETTLED)
    found: list[str] = page.evaluate(OVERFLOW)
    return [f"{width}: {each}" for each in found]


def refreshed(page: Page) -> tuple[int, list[Any]]:
    """How many parts of the page renewed themselves, and what moved (the sum of the `value` of all
    is the page's layout shift)."""
    answer = page.evaluate(REFRESH)
    return answer["parts"], answer["moved"]

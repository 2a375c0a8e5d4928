"""axe-core in a page of a browser, and what else a page must not do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from playwright.sync_api import Page

# What a page renews meanwhile takes its animations with it: those never end.
SETTLED = """async () => {
  const ending = document.getAnimations().filter(
    (each) => each.effect.getComputedTiming().iterations !== Infinity
  );
  const late = new Promise((done) => setTimeout(done, 10_000));
  await Promise.race([Promise.allSettled(ending.map((each) => each.finished)), late]);
}"""
GRAVELY = """({violations}) => violations
  .filter(({impact}) => ["serious", "critical"].includes(impact))
  .map(({id, help, nodes}) =>
    `${id} (${help}): ${nodes.slice(0, 3).map(({html}) => html.slice(0, 160)).join(" | ")}`)"""
VISIBLE = """[...document.querySelectorAll("body *")].filter((each) => each.checkVisibility())"""
# Of rows (of a table or a list) that differ in their texts alone the first is looked at: nearly all
# time goes into the contrasts of hundreds of cells that one template made.
ALIKE = """() => {
  const shapes = new Map();
  for (const row of document.querySelectorAll("tbody > tr, li")) {
    const shape = [row, ...row.querySelectorAll("*")].map((each) =>
      [each.tagName, each.getAttribute("class"), ...each.getAttributeNames().filter(
        (name) => name !== "data-alike")].join(" ")).join();
    const known = shapes.get(row.parentElement) ?? new Set();
    row.toggleAttribute("data-alike", known.has(shape));
    shapes.set(row.parentElement, known.add(shape));
  }
}"""
# Only the rule of a screen's orientation needs the style sheets, which are parsed anew each time:
# those of the first page, which is looked at as a whole, are those of all.
RUN = f"""async (besides) => {{
  (window.seen ??= {{}})[innerWidth] = new WeakSet({VISIBLE});
  ({ALIKE})();
  return ({GRAVELY})(await axe.run({{exclude: ["[data-alike]", ...besides]}}, {{
    resultTypes: ["violations"],
    preload: !besides.length && innerWidth < 768,
  }}));
}}"""
CONTRASTS = f"""async ([besides, width]) => {{
  const alone = new Set({VISIBLE}.filter((each) => !window.seen[width].has(each)));
  const exclude = ["[data-alike]", ...besides];
  const include = [...alone].filter((each) =>
    !alone.has(each.parentElement) && !exclude.some((one) => each.closest(one)));
  return include.length === 0 ? [] : ({GRAVELY})(await axe.run({{include, exclude}}, {{
    resultTypes: ["violations"], preload: false, runOnly: ["color-contrast"],
  }}));
}}"""
THEME = "(theme) => { document.documentElement.dataset.bsTheme = theme }"
# Charts take the new width some frames after the window has it.
OVERFLOW = """async () => {
  const page = document.documentElement;
  for (let frame = 0; frame < 60 && page.scrollWidth > innerWidth; frame++)
    await new Promise((done) => requestAnimationFrame(done));
  return page.scrollWidth > innerWidth ? [...document.querySelectorAll("body *")]
      .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
      .slice(0, 3).map((each) => each.outerHTML.slice(0, 160)).concat("the page is too wide")
    : [];
}"""
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


def violations(page: Page, width: int, theme: str, besides: Sequence[str] = ()) -> list[str]:
    """What axe finds grave in the page at a width and in a theme, but in the parts `besides`
    (selectors), and what is too wide for it."""
    _look(page, width, theme)
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate((settings.NODE_MODULES / "axe-core" / "axe.min.js").read_text())
    found: list[str] = page.evaluate(RUN, besides) + page.evaluate(OVERFLOW)
    return [f"{width} {theme}: {each}" for each in found]


def contrasts(
    page: Page, width: int, theme: str, *, unlike: int, besides: Sequence[str] = ()
) -> list[str]:
    """Colours too much alike in what shows at this width, but did not when `violations` looked at
    the width `unlike`."""
    _look(page, width, theme)
    found: list[str] = page.evaluate(CONTRASTS, [besides, unlike])
    return [f"{width} {theme}: {each}" for each in found]


def _look(page: Page, width: int, theme: str) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate(THEME, theme)
    page.evaluate(SETTLED)


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

"""A minute's walk through the panel as an animated picture: real pages, a caption on each."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize

from tests.demo.animation import Frame, animated
from tests.demo.people import Login

SIZE = ViewportSize(width=1200, height=750)
QUALITY = 0.72
MOST_BYTES = 4_000_000
SHOWN_MS, SCROLLED_MS = 3500, 3000
# Drawn charts, and no part of the page that is still being fetched.
DRAWN = """() => !document.querySelector("[data-charts-panels][aria-busy=true], .htmx-request")"""
# A caption is set by properties: the page's policy forbids style attributes.
CAPTION = """(text) => {
  const caption = document.createElement("div");
  caption.textContent = text;
  Object.assign(caption.style, {
    position: "fixed", left: "0", right: "0", bottom: "0", zIndex: "9999", padding: "14px 24px",
    font: "600 20px system-ui, sans-serif", textAlign: "center", color: "#fff",
    background: "rgba(24, 36, 51, .93)",
  });
  document.body.append(caption);
}"""
ENCODE = """async ([png, quality]) => {
  const image = new Image();
  image.src = `data:image/png;base64,${png}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  canvas.getContext("2d", {alpha: false}).drawImage(image, 0, 0);
  return canvas.toDataURL("image/webp", quality).split(",")[1];
}"""


@dataclass(frozen=True, slots=True)
class Scene:
    """A page with its caption; `scroll` is a selector that it is then scrolled to, if it has it."""

    address: str
    caption: str
    scroll: str = ""


def frames(browser: Browser, url: str, login: Login, scenes: Sequence[Scene]) -> list[Frame]:
    """A person's scenes, one after the other."""
    encoder = browser.new_page()
    context = browser.new_context(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
    context.set_default_timeout(60_000)
    taken = []
    for png, milliseconds in _pictures(context, url, login, scenes):
        text = base64.b64encode(png).decode()
        webp = base64.b64decode(encoder.evaluate(ENCODE, [text, QUALITY]))
        taken.append(Frame(webp, milliseconds))
    context.close()
    encoder.close()
    return taken


def walk(frames: Sequence[Frame]) -> bytes:
    """The picture. Raises RuntimeError where it is too big for a README."""
    picture = animated(frames, SIZE["width"], SIZE["height"])
    if len(picture) > MOST_BYTES:
        raise RuntimeError(f"the walk has {len(picture):,} bytes; at most {MOST_BYTES:,} fit")
    return picture


def keep(frames: Sequence[Frame], folder: Path) -> None:
    """In files, for a walk that goes on elsewhere; those of an earlier one are deleted."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for n, frame in enumerate(frames):
        (folder / f"{n:02d}-{frame.milliseconds}.webp").write_bytes(frame.webp)


def kept(folder: Path) -> list[Frame]:
    """What `keep` left; nothing without it."""
    files = sorted(folder.glob("*.webp"))
    return [Frame(file.read_bytes(), int(file.stem.partition("-")[2])) for file in files]


def sign_in(page: Page, url: str, login: Login) -> None:
    """Through the form, as a person does, who has set all up long ago."""
    page.goto(url)
    page.get_by_label("E-mail address").fill(login.email)
    page.get_by_label("Password").fill(login.password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url(lambda address: "/account/login" not in address)
    page.wait_for_load_state("networkidle")
    setup = page.get_by_role("button", name="Not now")
    if setup.is_visible():
        setup.click()


def _pictures(
    context: BrowserContext, url: str, login: Login, scenes: Sequence[Scene]
) -> Iterator[tuple[bytes, int]]:
    page = context.new_page()
    sign_in(page, url, login)
    for scene in scenes:
        response = page.goto(url + scene.address, wait_until="networkidle")
        if response is None or not response.ok:
            raise RuntimeError(f"{scene.address} did not answer")
        page.wait_for_function(DRAWN)
        page.evaluate(CAPTION, scene.caption)
        yield _shot(page), SHOWN_MS
        part = page.locator(scene.scroll).first if scene.scroll else None
        if part is not None and part.count():
            part.evaluate("(part) => part.scrollIntoView({block: 'start'})")
            page.wait_for_timeout(300)
            yield _shot(page), SCROLLED_MS
    page.close()


def _shot(page: Page) -> bytes:
    return page.screenshot(animations="disabled", caret="hide")

"""A number and its unit stay on one line: in pages, and only there."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from panel.http.unparted_figures import unparted
from storage.byte_sizes import GIB
from tests import make
from tests.proven import sign_in
from tests.scene import Scene, scene

JOINED = "\N{NO-BREAK SPACE}"
PARTED = re.compile(r"\d (?:%|ms|[KMGTP]iB)(?![\w-])")
OUTSIDE_TEXT = re.compile(r"<(pre|code|script|style|textarea)\b.*?</\1>|<[^>]*>", re.DOTALL)


def after(html: str) -> str:
    return unparted(html.encode()).decode()


@pytest.mark.parametrize(
    "figure", ["97 %", "5.40 ms", "2 h", "1.5 GiB", "12 KiB/s", "1,240 IOPS", "4.90 EUR"]
)
def test_a_figure_of_a_text_is_joined(figure: str) -> None:
    whole = figure.replace(" ", JOINED)
    assert after(f"<td>{figure}</td><p>{figure} of <b>{figure}</b>, {figure}.</p>") == (
        f"<td>{whole}</td><p>{whole} of <b>{whole}</b>, {whole}.</p>"
    )


@pytest.mark.parametrize(
    "html",
    [
        '<input name="size" value="10 GiB">',
        "<textarea>10 GiB</textarea>",
        "<pre>lvcreate -l 10 %FREE</pre><code>sleep 5 s</code>",
        '<script>const a = "10 ms" < b;</script>',
        "<p>2 disks, 3 months, 2 min-max, 02:30 UTC</p>",
        "text that no tag ends: 10 ms",
    ],
)
def test_what_is_typed_or_copied_is_left_as_it_is(html: str) -> None:
    assert after(html) == html


@pytest.mark.parametrize("text", ["5 > 3 ms", "x < 3 ms <b>4 ms</b>"])
def test_broken_html_loses_nothing(text: str) -> None:
    assert after(text).replace(JOINED, " ") == text


@pytest.fixture
def there() -> Scene:
    return scene(make.lv(size_bytes=10 * GIB), label="web")


@pytest.fixture
def staff(client: Client) -> Client:
    return sign_in(client, make.staff_user())


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["volumes", "overview", "hosts"])
def test_no_page_parts_a_figure(staff: Client, there: Scene, name: str) -> None:
    html = staff.get(reverse(name)).content.decode()
    assert not PARTED.findall(OUTSIDE_TEXT.sub("\n", html))
    assert JOINED in html


@pytest.mark.django_db
def test_programs_read_plain_spaces(staff: Client, there: Scene) -> None:
    listed = staff.get(reverse("volumes"), {"format": "csv"})
    assert "text/csv" in listed["Content-Type"]
    answer = staff.get("/api/v1/volumes/")
    assert "json" in answer["Content-Type"]
    for response in (listed, answer):
        assert JOINED.encode() not in b"".join(response)

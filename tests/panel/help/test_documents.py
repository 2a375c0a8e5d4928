"""Help: the documents of `docs/` as pages, and the search in them."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from panel.help import documents, help_search
from tests import make

pytestmark = pytest.mark.django_db
DOCS = sorted(path.stem for path in (Path(settings.BASE_DIR) / "docs").glob("*.md"))


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def test_what_developers_read_stands_last(staff: Client) -> None:
    text = staff.get(reverse("help")).content.decode()
    operators, developers = text.split(">For developers<")
    assert operators.rindex("<details") > operators.rindex('id="group-4"'), "folded"
    for name in ("operators", "production", "customers", "api"):
        assert reverse("help-document", args=[name]) in operators
    for name in ("architecture", "agent-protocol", "ui-parts", "faults", "asvs"):
        assert reverse("help-document", args=[name]) in developers


def test_every_document_is_offered_once() -> None:
    assert sorted([*documents.names(), documents.GLOSSARY]) == DOCS


def test_a_picture_is_named_where_the_panel_does_not_serve_it() -> None:
    html = documents.document("benchmark-lab").html
    assert "[Chart: IOPS of the six runs over time]" in html and "<img" not in html


@pytest.mark.parametrize("name", documents.names())
def test_every_link_in_a_document_leads_somewhere(staff: Client, name: str) -> None:
    response = staff.get(reverse("help-document", args=[name]))
    page = response.content.decode()
    article = page[page.index("<article") :]
    for href in re.findall(r'href="([^"]*)"', page[page.index('class="help-page"') :]):
        path, _, anchor = unescape(href).partition("#")
        if path.startswith("https://"):
            continue
        target = article
        if path:
            response = staff.get(path)
            assert response.status_code == 200, href
            target = (
                b"".join(response).decode() if response.streaming else response.content.decode()
            )
        assert not anchor or f'id="{anchor}"' in target, href


def test_markup_in_a_document_is_text(tmp_path: Path, settings: object) -> None:
    (tmp_path / "docs").mkdir()
    evil = "# Evil <img src=x onerror=1>\n\n<script>1</script> [x](javascript:alert(1)) `<b>`\n"
    (tmp_path / "docs" / "evil.md").write_text(evil)
    settings.BASE_DIR = tmp_path  # type: ignore[attr-defined]
    html = documents.document("evil").html
    assert not re.search(r"<(script|img|b|a)\b", html)
    assert "&lt;script&gt;" in html


def test_a_link_to_what_the_panel_does_not_serve_is_text() -> None:
    html = documents.document("asvs").html
    assert "SECURITY.md" not in re.findall(r'href="[^"]*"', html)
    assert 'href=""' not in html


def test_a_search_finds_the_passage_by_its_heading_first() -> None:
    hits = help_search.search("clear freed", for_customers=False)
    assert hits
    titles = [hit.title for hit in help_search.search("point of no return", for_customers=False)]
    assert titles[0].lower() == "point of no return"


def test_a_search_marks_its_words_and_nothing_else(staff: Client) -> None:
    text = staff.get(reverse("help"), {"q": "TIERCEL_SMTP_HOST"}).content.decode()
    assert "<mark>TIERCEL_SMTP_HOST</mark>" in text
    hostile = staff.get(reverse("help"), {"q": "<script>"}).content.decode()
    assert "<script>" not in hostile.split("<main")[1]


def test_a_customer_finds_words_of_their_own_pages_only(client: Client) -> None:
    client.force_login(make.user())
    everything = client.get(reverse("help")).content.decode()
    assert reverse("glossary") in everything
    assert reverse("help-document", args=["operators"]) not in everything
    assert "queue depth" in client.get(reverse("help"), {"q": "queue"}).content.decode()
    assert "0 passages" in client.get(reverse("help"), {"q": "quarantine"}).content.decode()
    glossary = client.get(reverse("glossary")).content.decode()
    assert "hit rate" in glossary
    assert "quarantine" not in glossary
    assert client.get(reverse("help-document", args=["operators"])).status_code == 404


def test_the_image_has_the_documents() -> None:
    root = Path(settings.BASE_DIR)
    assert "\nCOPY docs ./docs\n" in (root / "Dockerfile").read_text()
    assert "\n!docs\n" in (root / ".dockerignore").read_text()

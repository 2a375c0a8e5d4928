"""An old form that the API still accepts. It is declared where the form is: of an operation, a
parameter, or the keys of an address. Its answers (RFC 9745, RFC 8594) and the description mark it;
docs/versions.md has a row for each, with what to use instead."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from django.conf import settings
from django.urls import reverse
from django.utils.http import http_date

from panel.help.documents import code_anchor


@dataclass(frozen=True, slots=True)
class Deprecation:
    """`name` is that of its row in docs/versions.md."""

    name: str
    since: date

    @property
    def until(self) -> date:
        """It works until then at least: for a year."""
        return self.since.replace(year=self.since.year + 1)

    @property
    def doc_url(self) -> str:
        """Where the panel serves what to use instead."""
        page = reverse("help-document", args=["versions"])
        return f"{settings.TIERCEL_PUBLIC_URL}{page}#{code_anchor(self.name)}"


def headers_of(used: Collection[Deprecation]) -> dict[str, str]:
    """What an answer says where the request used these; of several the earliest dates."""
    if not used:
        return {}
    since = _seconds(min(each.since for each in used))
    links = (f'<{each.doc_url}>; rel="deprecation"; type="text/html"' for each in used)
    return {
        "Deprecation": f"@{since}",
        "Sunset": http_date(_seconds(min(each.until for each in used))),
        "Link": ", ".join(links),
    }


def is_number(key: str) -> bool:
    """Whether it is one of the running numbers that keys were at first; no key consists of digits
    alone."""
    return key.isascii() and key.isdigit() and len(key) < 10


def _seconds(day: date) -> int:
    return int(datetime.combine(day, time(), UTC).timestamp())

"""Each old form of the API says in its answers since when it is deprecated, until when it works and
what to use instead; no other request hears of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from jobs.models import Silence
from panel.accounts import invitations
from panel.api.deprecations import Deprecation, headers_of
from panel.api.framework.api_operations import operation_of
from panel.api.framework.described import deprecations_of
from panel.help.documents import code_anchor, document
from storage.access import StaffRole
from tests import make
from tests.panel.api.asking import Program, staff
from tests.panel.api.test_openapi import described, patterns
from tests.scene import job, scene

METHODS = ("get", "post", "put", "patch", "delete")
OF_FIELDS = {"next_after", "name"}
"""Fields of answers, which no request asks for."""
ROW = re.compile(r"\| `(\w+)` \| .+ \| .+ \| ([\d-]+) \| ([\d-]+) \|")


def declared() -> Iterator[tuple[str, str, Deprecation]]:
    """Method and address of each old form that a request can use."""
    for path, pattern in patterns().items():
        view: Any = getattr(pattern.callback, "view_class", None)
        for method in METHODS:
            operation = operation_of(view, method)
            for each in deprecations_of(operation, view) if operation is not None else ():
                yield method, path, each


FORMS = list(declared())


@pytest.fixture
def asking() -> Program:
    return staff("admin")


def silence() -> Silence:
    until = timezone.now() + timedelta(hours=1)
    return Silence.objects.create(code="drift", reason="Known.", until=until)


def old_requests(asking: Program) -> dict[str, list[tuple[str, str]]]:
    """A request for each old form."""
    there, person = scene(), make.user()
    member = make.customer().members.create(user=person, role="viewer")
    first, second = (
        invitations.to_staff(f"{name}@provider.org", StaffRole.ADMIN, None)[0].pk
        for name in ("ann", "bob")
    )
    place = asking.get("/events/").json()["next_cursor"]
    return {
        "after": [
            ("get", f"/events/?after={place}"),
            ("get", f"/jobs/{job(there).key}/lines?after=0"),
        ],
        "at_risk": [("get", "/alerts/?at_risk=true")],
        "running_numbers": [
            ("get", f"/people/{person.pk}"),
            ("patch", f"/people/{person.pk}"),
            ("delete", f"/people/{person.pk}/sessions"),
            ("post", f"/people/{person.pk}/password-link"),
            ("post", f"/invitations/{first}/again"),
            ("delete", f"/invitations/{second}"),
            ("get", f"/members/{member.pk}"),
            ("patch", f"/members/{member.pk}"),
            ("delete", f"/members/{member.pk}"),
            ("delete", f"/people/{person.pk}"),
        ],
        "silence_delete": [("delete", f"/silences/{silence().key}")],
        "message_make": [("post", "/messages/")],
        "host_missing_delete": [("delete", f"/hosts/{there.host.key}/missing")],
    }


def ask(asking: Program, method: str, path: str) -> Any:
    return asking.get(path) if method == "get" else asking.send(method, path)


@pytest.mark.django_db
def test_an_answer_to_each_old_form_says_so(asking: Program) -> None:
    requests = old_requests(asking)
    by_name = {each.name: each for _, _, each in FORMS}
    assert {name: len(asked) for name, asked in requests.items()} == Counter(
        each.name for _, _, each in FORMS
    )
    for name, asked in requests.items():
        for method, path in asked:
            answer, url = ask(asking, method, path), by_name[name].doc_url
            assert answer["Deprecation"] == "@1795651200", path
            assert answer["Sunset"] == "Fri, 26 Nov 2027 00:00:00 GMT", path
            assert answer["Link"] == f'<{url}>; rel="deprecation"; type="text/html"', path


@pytest.mark.django_db
def test_no_other_request_gets_a_deprecation(asking: Program) -> None:
    person = make.user()
    for path in ("/events/", "/alerts/?data_at_risk=true", "/silences/", f"/people/{person.key}"):
        answer = asking.get(path)
        assert answer.status_code == 200 and "Deprecation" not in answer.headers, path
    ended = asking.send("post", f"/silences/{silence().key}/end")
    assert not {"Deprecation", "Sunset", "Link"} & set(ended.headers)


def test_the_document_has_each_form_with_its_dates_and_a_place_to_link_to() -> None:
    text = (settings.BASE_DIR / "docs" / "versions.md").read_text()
    rows = {name: (since, until) for name, since, until in ROW.findall(text)}
    expected = {each.name: (f"{each.since}", f"{each.until}") for _, _, each in FORMS}
    assert {name: rows[name] for name in expected} == expected
    assert set(rows) - set(expected) == OF_FIELDS
    html = document("versions").html
    assert all(f'id="{code_anchor(name)}"' in html for name in rows)


@pytest.mark.parametrize(("method", "path", "form"), FORMS, ids=lambda each: str(each))
def test_the_description_says_it(method: str, path: str, form: Deprecation) -> None:
    operation = described()["paths"][path][method]
    assert operation["x-deprecations"][form.name] == {
        "since": f"{form.since}",
        "until": f"{form.until}",
    }
    of_success = next(answer for status, answer in operation["responses"].items() if status < "3")
    assert {"Deprecation", "Sunset", "Link"} <= set(of_success["headers"])


def test_of_several_old_forms_the_earliest_dates_are_sent_and_all_links() -> None:
    old, older = Deprecation("a", date(2027, 2, 1)), Deprecation("b", date(2027, 1, 1))
    headers = headers_of([old, older])
    assert headers["Deprecation"] == f"@{int(datetime(2027, 1, 1, tzinfo=UTC).timestamp())}"
    assert headers["Sunset"].startswith("Sat, 01 Jan 2028")
    assert headers["Link"].count('rel="deprecation"') == 2
    assert headers_of([]) == {}

"""The audit trail as a page and as a file."""

from __future__ import annotations

import csv
import io
import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.audit_trail import COLUMNS, BadSince, parsed_moment
from jobs.models import AuditEntry
from tests import make
from tests.one_line import on_one_line
from tests.scene import HOSTILE

pytestmark = pytest.mark.django_db

COMMANDS = [{"argv": ["lvchange", "--addtag", "a b"], "shell": "lvchange --addtag 'a b'", "rc": 0}]


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user(staff_role="read_only"))
    return client


def entry(**fields: Any) -> AuditEntry:
    defaults: dict[str, Any] = {
        "phase": "intent",
        "op_id": uuid.uuid4(),
        "job_key": "jjjjjjjjjjjjjjjj",
        "kind": "add-cache",
        "actor": "ada@example.org",
        "address": "203.0.113.9",
        "origin": "page",
        "host": "alpha",
        "host_key": "hhhhhhhhhhhhhhhh",
        "volume_key": "vvvvvvvvvvvvvvvv",
        "volume_label": "web12 disk",
        "vg": "vg0",
        "verb": "volume.tag",
        "args": {"vg": "vg0"},
    }
    return AuditEntry.objects.create(**{**defaults, **fields})


def pair(**fields: Any) -> None:
    """An intent and a good outcome."""
    op_id = uuid.uuid4()
    entry(op_id=op_id, **fields)
    entry(op_id=op_id, phase="outcome", commands=COMMANDS, result={"state": "done"}, **fields)


def page(client: Client, **query: str) -> str:
    response = client.get(reverse("audit"), query)
    assert response.status_code == 200
    return on_one_line(response.content.decode())


def exported(client: Client, kind: str, **query: str) -> str:
    response = client.get(reverse("audit-export"), {"format": kind, **query})
    assert response.status_code == 200
    assert f".{kind}" in response["Content-Disposition"]
    return b"".join(response.streaming_content).decode()


def test_an_operation_is_one_line_with_person_command_and_result(staff: Client) -> None:
    pair(token="tcl_abc", origin="api")
    text = page(staff)
    for word in ("ada@example.org", "tcl_abc", "203.0.113.9", "alpha", "web12 disk"):
        assert word in text
    assert "lvchange --addtag &#x27;a b&#x27;" in text
    assert "# exit 0" in text
    assert text.count("volume.tag") == 1
    assert ">Put a volume under management</a>" in text
    assert "1 command <" in text


def test_an_operation_without_an_outcome_was_sent(staff: Client) -> None:
    entry()
    assert "sent</span>" in page(staff)


@pytest.mark.parametrize(
    ("state", "word"),
    [("failed", "failed"), ("not_started", "not started"), ("unknown", "unknown")],
)
def test_a_bad_outcome_says_how_it_ended(staff: Client, state: str, word: str) -> None:
    op_id = uuid.uuid4()
    entry(op_id=op_id)
    result = {"state": state, "code": "x", "message": HOSTILE}
    entry(op_id=op_id, phase="outcome", result=result)
    text = page(staff)
    assert f"{word}</span>" in text
    assert HOSTILE not in text
    assert "no commands were run" in text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("host", "ALPHA"),
        ("host", "hhhhhhhhhhhhhhhh"),
        ("volume", "Web12 disk"),
        ("volume", "vvvvvvvvvvvvvvvv"),
        ("actor", "ADA@"),
        ("job", "jjjjjjjjjjjjjjjj"),
    ],
)
def test_each_filter_finds_its_own_and_nothing_else(staff: Client, name: str, value: str) -> None:
    entry(verb="volume.mine")
    entry(
        verb="volume.other",
        host="beta",
        host_key="h2",
        volume_key="v2",
        volume_label="db1",
        actor="bob@example.org",
        job_key="j2",
    )
    text = page(staff, **{name: value})
    assert "volume.mine" in text
    assert "volume.other" not in text


def test_since_leaves_older_entries_out(staff: Client) -> None:
    entry(verb="volume.old", at=timezone.now() - timedelta(days=3))
    entry(verb="volume.new")
    text = page(staff, since=f"{timezone.now() - timedelta(days=1):%Y-%m-%d}")
    assert "volume.new" in text
    assert "volume.old" not in text


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-11-21", datetime(2026, 11, 21, tzinfo=UTC)),
        ("2026-11-21T08:30Z", datetime(2026, 11, 21, 8, 30, tzinfo=UTC)),
        ("2026-11-21T08:30", datetime(2026, 11, 21, 8, 30, tzinfo=UTC)),
        ("2026-11-21T08:30+02:00", datetime(2026, 11, 21, 6, 30, tzinfo=UTC)),
        ("", None),
    ],
)
def test_since_is_a_day_or_a_time(text: str, at: datetime | None) -> None:
    assert parsed_moment({"since": text}) == at


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "2026-11-21T25:00Z", HOSTILE])
def test_any_other_since_is_refused_with_an_example(staff: Client, text: str) -> None:
    with pytest.raises(BadSince):
        parsed_moment({"since": text})
    response = staff.get(reverse("audit"), {"since": text})
    assert response.status_code == 400
    assert "enter one like 2026-11-21" in response.content.decode()
    assert staff.get(reverse("audit-export"), {"since": text}).status_code == 400


def test_the_csv_has_every_entry_with_every_column(staff: Client) -> None:
    pair()
    rows = list(csv.DictReader(io.StringIO(exported(staff, "csv"))))
    assert [row["phase"] for row in rows] == ["intent", "outcome"]
    assert tuple(rows[0]) == COLUMNS
    assert rows[1]["commands"] == "lvchange --addtag 'a b' [0]"
    assert json.loads(rows[1]["result"]) == {"state": "done"}
    assert rows[0]["address"] == "203.0.113.9"


def test_no_cell_of_the_csv_is_a_formula(staff: Client) -> None:
    entry(volume_label='=HYPERLINK("http://evil")', actor="@ada", machine_id="")
    (row,) = csv.DictReader(io.StringIO(exported(staff, "csv")))
    assert row["volume_label"] == '\'=HYPERLINK("http://evil")'
    assert row["actor"] == "'@ada"


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_json_is_one_array_however_long(staff: Client, count: int) -> None:
    for _ in range(count):
        entry()
    rows = json.loads(exported(staff, "json"))
    assert len(rows) == count
    assert all(tuple(row) == COLUMNS for row in rows)


def test_a_file_has_what_the_page_was_filtered_by(staff: Client) -> None:
    entry()
    entry(host="beta")
    (row,) = json.loads(exported(staff, "json", host="beta"))
    assert row["host"] == "beta"
    text = page(staff, host="beta")
    assert f"{reverse('audit-export')}?host=beta&amp;format=csv" in text


def test_an_unknown_format_is_refused(staff: Client) -> None:
    assert staff.get(reverse("audit-export"), {"format": "xls"}).status_code == 400


def test_an_empty_trail_says_what_will_be_there(staff: Client) -> None:
    assert "No operations yet" in page(staff)
    assert "Nothing matches" in page(staff, host="nowhere")

"""Every file for a spreadsheet that the panel gives, with names that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
import re
import uuid
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from jobs.models import AuditEntry, Phase
from panel.models import User
from storage.formatting import FORMULA, csv_line
from storage.models import Benchmark, CachePlan, Customer, Host, HostChange, HostOutline, Volume
from tests.panel.cast import Cast
from tests.panel.cast import people as people
from tests.panel.permissions import TABLE, Row
from tests.test_shape import ROOT, python_files

HOSTILE = '=HYPERLINK("http://evil.example")'
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?")
FIGURES = {"benchmark-compare-csv", "benchmark-shared-csv", "volume-csv", "host-csv", "fleet-csv"}
"""Files of nothing but times and numbers."""
NAMES = {
    "alerts",
    "audit-export",
    "benchmark-csv",
    "benchmarks",
    "capacity",
    "customers",
    "hosts",
    "jobs",
    "ledger-csv",
    "people",
    "revenue-csv",
    "volumes",
    "host-history",
}


def files(people: Cast) -> dict[str, str]:
    """The text of each, by its route: whatever answers with one where it is asked to."""
    texts = {}
    for row in TABLE:
        if row.method == "GET" and not row.is_api:
            response = asked(people, row)
            if response.headers.get("Content-Type", "").startswith("text/csv"):
                texts[row.name] = b"".join(response).decode()
    return texts


def asked(people: Cast, row: Row) -> Any:
    with transaction.atomic():
        response = people.clients["admin"].get(people.path(row), {"format": "csv"})
        transaction.set_rollback(True)
    return response


def be_hostile(people: Cast) -> None:
    """Whatever customers, guests, hosts and colleagues may call themselves."""
    plan = CachePlan.objects.get(key=people.ids["plan"])
    CachePlan.objects.filter(pk=plan.pk).update(name=HOSTILE)
    Volume.objects.filter(pk=people.acme.there.volume.pk).update(
        label=HOSTILE, external_id=HOSTILE, guest=HOSTILE, cache_plan=plan
    )
    Customer.objects.filter(pk=people.acme.customer.pk).update(name=HOSTILE, external_id=HOSTILE)
    Host.objects.filter(pk=people.acme.there.host.pk).update(
        name=HOSTILE, site="+site", tags=["@tag"]
    )
    Benchmark.objects.update(title=HOSTILE)
    HostOutline.objects.update_or_create(
        host=people.acme.there.host, defaults={"fast_total_bytes": 1 << 40}
    )
    HostChange.objects.create(
        host=people.acme.there.host, at=timezone.now(), kind="disk_added", subject=HOSTILE
    )
    User.objects.filter(pk=people.acme.owner.pk).update(name=HOSTILE, email="+1@acme.org")
    AuditEntry.objects.create(
        op_id=uuid.uuid4(),
        phase=Phase.INTENT,
        job_key="j" * 16,
        host_key="h" * 16,
        actor="@ada",
        host=HOSTILE,
        volume_label="\t=1",
        token="\r=1",
        args={},
    )


def test_no_file_has_a_cell_that_a_spreadsheet_would_run(people: Cast) -> None:
    with transaction.atomic():
        be_hostile(people)
        texts = files(people)
        transaction.set_rollback(True)
    assert set(texts) == FIGURES | NAMES, "an unknown file: add it here"
    for name, text in texts.items():
        cells = [cell for line in csv.reader(io.StringIO(text)) for cell in line]
        wild = [each for each in cells if each.startswith(FORMULA) and not NUMBER.fullmatch(each)]
        assert wild == [], name
        assert (f"'{HOSTILE}" in cells) == (name in NAMES), name


@pytest.mark.parametrize("start", FORMULA)
def test_text_that_begins_like_a_formula_stays_text(start: str) -> None:
    ((cell, number),) = csv.reader(io.StringIO(csv_line([f"{start}1", -1.5]), newline=""))
    assert (cell, number) == (f"'{start}1", "-1.5")


def test_nothing_but_one_function_writes_csv() -> None:
    writing = [
        str(path.relative_to(ROOT))
        for path in python_files("panel", "jobs", "storage")
        if "csv.writer" in path.read_text() or "DictWriter" in path.read_text()
    ]
    assert writing == ["storage/formatting.py"]

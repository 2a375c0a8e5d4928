"""Failpoints do nothing by themselves, and stand exactly at the edges of a transaction."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import connection, transaction

from jobs import failpoints
from jobs.failpoints import durable, reach
from storage.models import Customer
from tests import make

ROOT = Path(__file__).parents[2]


def test_nothing_in_the_product_gives_failpoints_anything_to_do() -> None:
    setting = [
        str(path.relative_to(ROOT))
        for folder in ("panel", "jobs", "storage")
        for path in (ROOT / folder).rglob("*.py")
        if "failpoints.hook" in path.read_text() or "setattr(failpoints" in path.read_text()
    ]
    assert setting == []
    assert failpoints.hook is None
    reach("anything")


@pytest.mark.django_db(transaction=True)
def test_the_points_of_a_durable_function_are_before_at_and_after_its_commit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[str, bool, int]] = []

    def hook(name: str) -> None:
        seen.append((name, connection.in_atomic_block, Customer.objects.count()))

    @durable("add")
    def add() -> str:
        return make.customer().name

    monkeypatch.setattr(failpoints, "hook", hook)
    assert add()
    assert seen == [("add.before", False, 0), ("add.commit", True, 1), ("add.after", False, 1)]


@pytest.mark.django_db(transaction=True)
def test_what_fails_at_the_commit_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Exception):
        pass

    def hook(name: str) -> None:
        if name == "add.commit":
            raise Broken

    monkeypatch.setattr(failpoints, "hook", hook)
    with pytest.raises(Broken):
        durable("add")(make.customer)()
    assert transaction.get_autocommit()
    assert Customer.objects.count() == 0

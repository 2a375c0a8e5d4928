"""Workers and their connections to PostgreSQL."""

from __future__ import annotations

import pytest
from celery.fixups.django import DjangoWorkerFixup
from celery.signals import task_postrun, task_prerun
from django.db import connection

from panel.celery import app

pytestmark = pytest.mark.django_db(transaction=True)


def run_a_task() -> None:
    """As far as connections notice."""
    fixup = DjangoWorkerFixup(app)
    task_prerun.send(sender=None)
    fixup.close_database()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    task_postrun.send(sender=None)
    fixup.close_database()


def test_a_worker_keeps_its_connection_from_one_task_to_the_next() -> None:
    run_a_task()
    kept = connection.connection
    assert kept is not None
    run_a_task()
    assert connection.connection is kept


def test_a_worker_gives_up_a_connection_that_broke() -> None:
    run_a_task()
    broken = connection.connection
    assert broken is not None
    broken.close()
    run_a_task()
    assert connection.connection is not broken

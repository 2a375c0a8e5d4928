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


def test_only_what_talks_to_hosts_is_routed_to_those_that_have_their_keys() -> None:
    app.loader.import_default_modules()
    ours = [name for name in app.tasks if name.startswith(("jobs.", "panel."))]
    routed = {name: app.amqp.router.route({}, name)["queue"].name for name in ours}
    assert {name: queue for name, queue in routed.items() if queue != "housekeeping"} == {
        "jobs.tasks.run_due_jobs": "jobs",
        "jobs.tasks.refresh_host": "hosts",
        "jobs.tasks.begin_check": "hosts",
    }

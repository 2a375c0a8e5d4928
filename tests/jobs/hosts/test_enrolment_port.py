"""By which port and account a host is reached: a person's word, what is known, sshd's own."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command

from jobs.hosts import enrolment
from storage.models import Host
from storage.models.host import HostState
from tests import make
from tests.scene import HOST_KEY

pytestmark = pytest.mark.django_db
MACHINE_ID = "0123456789abcdef0123456789abcdef"


def port_after_report(token: str, reported: int) -> int:
    return enrolment.report_host(token, MACHINE_ID, HOST_KEY, reported).port


def renewed(**options: object) -> tuple[str, int, str, HostState]:
    """A host in service on a port and account of its own, after `manage.py enrol` of its name."""
    host = make.host(name="web1", address="198.51.100.7", port=2201, account="storage")
    call_command("enrol", "web1", "198.51.100.8", stdout=StringIO(), stderr=StringIO(), **options)
    host.refresh_from_db()
    return host.address, host.port, host.account, HostState(host.state)


def test_a_new_line_keeps_port_and_account_of_a_host_in_service() -> None:
    assert renewed() == ("198.51.100.8", 2201, "storage", HostState.ACTIVE)


def test_port_and_account_are_changed_where_they_are_given() -> None:
    given = renewed(port=22, account="tiercel")
    assert given == ("198.51.100.8", 22, "tiercel", HostState.ACTIVE)


def test_a_new_host_has_the_usual_account_and_the_port_it_says() -> None:
    host, token = enrolment.begin_enrolment("web1", "198.51.100.7")
    assert (host.port, host.account) == (22, "tiercel")
    assert port_after_report(token, 2222) == 2222


@pytest.mark.parametrize("given", [2201, 22])
def test_a_forwarded_port_is_kept_also_where_it_is_the_default(given: int) -> None:
    _, token = enrolment.begin_enrolment("web1", "198.51.100.7", given)
    assert port_after_report(token, 2222) == given


def test_a_later_line_knows_that_the_port_was_given() -> None:
    enrolment.begin_enrolment("web1", "198.51.100.7", 22)
    host, token = enrolment.begin_enrolment("web1", "198.51.100.7")
    assert enrolment.waiting_token(host) == token
    assert port_after_report(token, 2222) == 22


@pytest.mark.parametrize(
    ("error", "port"),
    [({}, 22), ({"code": "no_answer"}, 22), ({"code": "unreachable"}, 2222)],
)
def test_a_host_in_service_changes_its_port_only_where_nothing_answers(
    error: dict[str, str], port: int
) -> None:
    make.host(name="web1", host_key=HOST_KEY, error=error)
    _, token = enrolment.begin_enrolment("web1", "198.51.100.7")
    assert port_after_report(token, 2222) == port
    assert Host.objects.get().state == HostState.ACTIVE

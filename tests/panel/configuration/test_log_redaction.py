"""Enrolment tokens stay out of the log."""

import logging

import pytest
from django.test import Client
from django.urls import get_resolver

from jobs.hosts import enrolment
from panel.accounts.authentication.protected_actions import POLICY, Demand
from panel.configuration.log_redaction import TokenFilter

pytestmark = pytest.mark.django_db


def test_a_refused_report_leaves_no_usable_token_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    _, token = enrolment.begin_enrolment("web1", "198.51.100.7")
    caplog.handler.addFilter(TokenFilter())
    with caplog.at_level(logging.WARNING):
        assert Client().post(f"/enrol/{token}", {"host_key": "nonsense"}).status_code == 409
    assert enrolment.enrolling_host(token) is not None
    assert "/enrol/***" in caplog.text
    assert token not in caplog.text


LINKS = [name for name, act in POLICY.items() if act.demand is Demand.LINK]
TOKEN = "3-cyq9x1-0123456789abcdef:w_Z"


def paths() -> list[str]:
    """The address of every route that lets in anyone who has it."""
    paths = []
    for name in LINKS:
        for pattern, _ in get_resolver().reverse_dict.getlist(name)[0][0]:
            words = get_resolver().reverse_dict.getlist(name)[0][0][0][1]
            if words:
                paths.append("/" + pattern % dict.fromkeys(words, TOKEN))
    return paths


def test_every_address_that_grants_access_is_masked() -> None:
    assert len(paths()) >= 7
    for path in paths():
        record = logging.LogRecord("x", logging.WARNING, "", 1, "Not Found: %s", (path,), None)
        assert TokenFilter().filter(record)
        assert TOKEN[2:] not in record.getMessage(), path


def test_other_lines_pass_unchanged() -> None:
    record = logging.LogRecord("x", logging.INFO, "", 1, "%s of %d", ("volume", 3), None)
    assert TokenFilter().filter(record)
    assert record.getMessage() == "volume of 3"
    assert record.args == ("volume", 3)

"""Enrolment tokens stay out of the log."""

import logging

import pytest
from django.test import Client

from jobs import enrolment
from panel.masking import TokenFilter

pytestmark = pytest.mark.django_db


def test_a_refused_report_leaves_no_usable_token_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    _, token = enrolment.begin("web1", "198.51.100.7")
    caplog.handler.addFilter(TokenFilter())
    with caplog.at_level(logging.WARNING):
        assert Client().post(f"/enrol/{token}", {"host_key": "nonsense"}).status_code == 409
    assert enrolment.waiting(token) is not None
    assert "/enrol/***" in caplog.text
    assert token not in caplog.text


def test_other_lines_pass_unchanged() -> None:
    record = logging.LogRecord("x", logging.INFO, "", 1, "%s of %d", ("volume", 3), None)
    assert TokenFilter().filter(record)
    assert record.getMessage() == "volume of 3"
    assert record.args == ("volume", 3)

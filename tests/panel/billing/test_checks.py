"""What `manage.py check` says of the billing hook's settings."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from panel.operations.system_checks import billing_can_be_asked
from tests.panel.billing.desk import OTHER, SECRET

URL = "https://billing.example.org/hook"


@pytest.mark.parametrize(
    ("url", "secrets", "inward", "ids"),
    [
        ("", [], [], []),
        (URL, [SECRET, OTHER], [SECRET], []),
        (URL, [SECRET], [], []),
        (URL, [], [], ["panel.E004"]),
        (URL, ["secret"], [], ["panel.E004"]),
        (URL, [SECRET], ["whsec_YQ=="], ["panel.E004"]),
        ("http://billing.example.org/hook", [SECRET], [], ["panel.E003"]),
    ],
)
def test_settings_that_send_or_sign_nothing_are_found(
    settings: Settings, url: str, secrets: list[str], inward: list[str], ids: list[str]
) -> None:
    settings.TIERCEL_BILLING_URL = url
    settings.TIERCEL_BILLING_SECRETS, settings.TIERCEL_BILLING_IN_SECRETS = secrets, inward
    assert [each.id for each in billing_can_be_asked(None)] == ids

"""The link to the page that one is at is marked."""

from __future__ import annotations

import pytest

from panel.templatetags.sections import current, section


@pytest.mark.parametrize(
    ("here", "names", "is_marked"),
    [
        ("alert", "alerts alert", True),
        ("alert-routes", "alerts alert", False),
        ("silence-new", "*silence*", True),
        ("", "people *person*", False),
        (None, "people", False),
    ],
)
def test_a_link_is_marked_where_one_of_its_names_is_the_page(
    here: str | None, names: str, is_marked: bool
) -> None:
    assert bool(current(here, names)) is is_marked


@pytest.mark.parametrize(
    "route", ["people", "trail", "audit", "security-log", "billing", "webhooks", "settings"]
)
def test_each_tab_of_the_administration_is_in_its_section(route: str) -> None:
    assert section(route) == "admin"

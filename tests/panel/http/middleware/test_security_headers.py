"""What every answer says to browsers and to caches on its way."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tests import make
from tests.panel.cast import Cast
from tests.panel.cast import people as people
from tests.panel.permissions import TABLE, Row
from tests.proven import sign_in

pytestmark = pytest.mark.django_db

SEEN = [
    row
    for row in TABLE
    if row.method == "GET" and row.name not in ("health", "api-nothing", "api-nowhere")
]


@pytest.mark.parametrize("row", SEEN, ids=lambda row: row.name)
def test_no_page_of_a_person_is_kept_by_a_cache(people: Cast, row: Row) -> None:
    for role in ("owner", "admin"):
        response = people.ask(role, row)
        if not row.is_api or response.status_code == 200:
            assert "no-store" in response.headers.get("Cache-Control", ""), role


@pytest.mark.parametrize(
    "name", ["account_email", "mfa_index", "account_change_password", "mfa_list_webauthn"]
)
def test_nor_one_of_the_account(client: Client, name: str) -> None:
    sign_in(client, make.user())
    assert "no-store" in client.get(reverse(name))["Cache-Control"]


@pytest.mark.parametrize("path", ["/", "/health", "/account/login/", "/nowhere"])
def test_no_other_site_may_embed_it_and_no_script_may_use_devices(
    client: Client, path: str
) -> None:
    response = client.get(path)
    assert response["Cross-Origin-Resource-Policy"] == "same-origin"
    allowed = response["Permissions-Policy"]
    assert "camera=()" in allowed and "publickey-credentials-get=(self)" in allowed

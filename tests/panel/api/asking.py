"""A program at the API: a token in the header, JSON out and in."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.test import Client

from panel.accounts import api_tokens
from panel.models import Scope, User
from storage.models import Customer, Member
from tests import make
from tests.scene import Scene

ALL = tuple(Scope.values)
V1 = "/api/v1"


@dataclass(frozen=True)
class Program:
    """What acts with a token of `user`."""

    user: User
    text: str

    def get(self, path: str, **query: Any) -> Any:
        return Client().get(V1 + path, query, headers=self.headers())

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        call = getattr(Client(), method)
        given = self.headers(**headers)
        # The client of Django would send the text "None".
        return call(
            V1 + path, "" if body is None else body, content_type="application/json", headers=given
        )

    def put_wish(
        self, there: Scene, cache: Any, key: str = "", query: str = "", **headers: str
    ) -> Any:
        """PUT a wish with a key of its own unless one is given."""
        headers = {"Idempotency-Key": key or uuid.uuid4().hex, **headers}
        path = f"/volumes/{there.volume.key}/wish{query}"
        return self.send("put", path, {"cache": cache}, **headers)

    def headers(self, **more: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.text}", **more}


def program(user: User, *scopes: str) -> Program:
    """A program with a token of all the scopes the person may give, or of these."""
    _, text = api_tokens.issue(
        user, name="test", scopes=scopes or api_tokens.scopes_of(user), days=1
    )
    return Program(user, text)


def staff(role: str = "admin") -> Program:
    return program(make.staff_user(staff_role=role))


def member(customer: Customer, role: str = "owner") -> Program:
    user = make.user()
    Member.objects.create(customer=customer, user=user, role=role)
    return program(user)


def own(there: Scene, customer: Customer) -> None:
    """Give the scene's volume to a customer."""
    there.volume.customer = customer
    there.volume.save()


def problem(response: Any, status: int, code: str) -> dict[str, Any]:
    """The body of a problem, once it is the one expected."""
    assert (response.status_code, response.json().get("code")) == (status, code), response.content
    assert response["Content-Type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert body["status"] == status
    assert body["instance"].endswith(response["X-Request-Id"])
    return body

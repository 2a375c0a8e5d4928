"""What a token of one scope may do: each operation says which scopes it takes, the documents say
the same, and nothing else opens it."""

from __future__ import annotations

from typing import Any, Final

import pytest
from django.conf import settings

from panel.accounts import api_tokens
from panel.models import Scope, User
from tests import make
from tests.panel.api.asking import Program, problem, program
from tests.panel.api.test_every_operation import Foreign, body_of, filled, operations
from tests.panel.cast import Cast
from tests.panel.cast import people as people
from tests.scene import Scene, job, scene

CHANGING: Final = ("post", "put", "patch", "delete")
BY_KIND: Final = ("apply", "cancel", "pace", "resume", "rollback", "resolve")
"""The scope of these goes by the kind of the job, which they find first. So does that of a wish."""
MARKS: Final = ("<!-- scopes -->\n", "<!-- /scopes -->")


def required(operation: dict[str, Any]) -> list[str]:
    scopes: list[str] = operation.get("x-required-scopes", [])
    return scopes


def table() -> str:
    """As docs/api.md has it."""
    lines = ["| change | scope | with `dry_run` |", "|---|---|---|"]
    for method, path, operation in operations():
        if method in CHANGING:
            cells = [
                " or ".join(f"`{scope}`" for scope in operation.get(name, ()))
                for name in ("x-required-scopes", "x-dry-run-scopes")
            ]
            address = f"`{method.upper()} {path.removeprefix('/api/v1')}`"
            lines.append(f"| {address} | {cells[0]} | {cells[1]} |".replace("|  |", "| |"))
    return "\n".join([*lines, ""])


def test_every_operation_says_which_scopes_it_takes() -> None:
    silent = [
        f"{method} {path}" for method, path, operation in operations() if not required(operation)
    ]
    assert silent == []


def test_the_documents_have_the_table_of_changes_and_scopes() -> None:
    text = (settings.BASE_DIR / "docs" / "api.md").read_text()
    assert text.partition(MARKS[0])[2].partition(MARKS[1])[0] == table()


def test_a_token_of_one_scope_opens_what_names_the_scope_and_nothing_else(
    people: Cast, subtests: pytest.Subtests
) -> None:
    asking = Foreign(people)
    admin = User.objects.get(email="admin@provider.org")
    for scope in api_tokens.scopes_of(admin):
        _, text = api_tokens.issue(admin, name=scope, scopes=[scope], days=1)
        asking.bearers[scope] = {"Authorization": f"Bearer {text}"}
        for method, path, operation in operations():
            if not required(operation):
                continue
            with subtests.test(f"{scope}: {method} {path}"):
                address = filled(path, people.ids, "")
                status, code, answer = asking.ask(scope, method, address, body_of(method, path))
                is_refused = (status, code) == (403, "insufficient_scope")
                if path.rpartition("/")[2] in (*BY_KIND, "wish") and scope in required(operation):
                    continue
                assert is_refused == (scope not in required(operation)), answer


# --- By the kind of a job ------------------------------------------------------------------------


@pytest.fixture
def admin() -> User:
    return make.staff_user()


def steer(asking: Program, kind: str, verb: str, there: Scene) -> Any:
    """The answer to a decision about a job of this kind."""
    fields: dict[str, Any] = {"volume": None} if kind in ("prepare-ssd", "replace-member") else {}
    row = job(there, kind=kind, dry_run=verb == "apply", **fields)
    body = {"why": "Done by hand."} if verb == "resolve" else None
    return asking.send("post", f"/jobs/{row.key}/{verb}", body, **{"Idempotency-Key": row.key})


@pytest.mark.django_db
@pytest.mark.parametrize("verb", BY_KIND)
@pytest.mark.parametrize(
    ("kind", "scopes"),
    [
        ("add-cache", {Scope.VOLUMES}),
        ("prepare-ssd", {Scope.VOLUMES, Scope.HOSTS}),
        ("replace-member", {Scope.HOSTS}),
        ("destroy-volume", {Scope.DESTROY}),
        ("drop-cache", {Scope.DESTROY}),
    ],
)
def test_the_scope_of_a_decision_goes_by_the_kind_of_the_job(
    admin: User, verb: str, kind: str, scopes: set[str]
) -> None:
    if Scope.DESTROY in scopes and verb not in ("apply", "resume"):
        scopes = scopes | {Scope.VOLUMES}
    for scope in (Scope.VOLUMES, Scope.HOSTS, Scope.DESTROY):
        answer = steer(program(admin, Scope.READ, scope), kind, verb, scene())
        if scope in scopes:
            assert answer.json().get("code") != "insufficient_scope", answer.content
        else:
            problem(answer, 403, "insufficient_scope")


@pytest.mark.django_db
def test_volumes_write_neither_moves_nor_removes_a_host(admin: User) -> None:
    there = scene()
    asking = program(admin, Scope.READ, Scope.VOLUMES)
    host = f"/hosts/{there.host.key}"
    problem(asking.send("patch", host, {"address": "127.0.0.9"}), 403, "insufficient_scope")
    problem(asking.send("delete", host), 403, "insufficient_scope")
    assert asking.get(host).json()["address"] == there.host.address

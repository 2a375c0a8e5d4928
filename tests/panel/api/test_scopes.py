"""What a token of one scope may do: each operation says which scopes it takes, the documents say
the same, and nothing else opens it."""

from __future__ import annotations

from typing import Any, Final

import pytest
from django.conf import settings

from panel.accounts import api_tokens
from panel.models import Scope, User
from panel.models.api_token import READS
from tests import make
from tests.panel.api.asking import Program, problem, program
from tests.panel.api.test_every_operation import Foreign, body_of, filled, operations
from tests.panel.cast import Cast
from tests.panel.cast import people as people
from tests.scene import Scene, job, scene

CHANGING: Final = ("post", "put", "patch", "delete")
BY_KIND: Final = ("apply", "cancel", "pace", "resume", "rollback", "resolve", "window")
"""The scope of these goes by the kind of the job, which they find first. So does that of a wish."""
MARKS: Final = ("<!-- scopes -->\n", "<!-- /scopes -->")
READ_MARKS: Final = ("<!-- reads -->\n", "<!-- /reads -->")


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


def reads() -> str:
    """As docs/api.md has them: what each part of `read` opens. The root takes any."""
    opens: dict[str, list[str]] = {scope: [] for scope in READS}
    for method, path, operation in operations():
        if method == "get" and path != "/api/v1/":
            assert required(operation)[:1] == [Scope.READ], path
            [scope] = required(operation)[1:]
            opens[scope].append(f"`{path.removeprefix('/api/v1')}`")
    rows = [f"| `{scope}` | {', '.join(paths)} |" for scope, paths in opens.items()]
    return "\n".join(["| scope | reads |", "|---|---|", *rows, ""])


def test_the_documents_have_what_each_part_of_read_opens() -> None:
    text = (settings.BASE_DIR / "docs" / "api.md").read_text()
    assert text.partition(READ_MARKS[0])[2].partition(READ_MARKS[1])[0] == reads()


@pytest.mark.django_db
def test_the_root_names_the_lists_that_the_token_may_read() -> None:
    admin = make.staff_user()
    assert set(program(admin, Scope.BILLING_READ).get("/").json()["urls"]) == {
        "orders",
        "proofs",
        "cache-plans",
        "messages",
    }
    assert len(program(admin, Scope.READ).get("/").json()["urls"]) > 15


@pytest.mark.django_db
def test_a_token_that_reads_all_makes_one_that_reads_a_part_and_not_the_other_way() -> None:
    admin = make.staff_user()
    whole, part = (
        program(admin, scope, Scope.TOKENS) for scope in (Scope.READ, Scope.VOLUMES_READ)
    )
    body = {"name": "part", "scopes": ["volumes:read"]}
    assert whole.send("post", "/tokens/", body).status_code == 201
    problem(part.send("post", "/tokens/", {"name": "all", "scopes": ["read"]}), 422, "invalid")


def test_every_operation_says_which_scopes_it_takes() -> None:
    silent = [
        f"{method} {path}" for method, path, operation in operations() if not required(operation)
    ]
    assert silent == []


def test_the_documents_have_the_table_of_changes_and_scopes() -> None:
    text = (settings.BASE_DIR / "docs" / "api.md").read_text()
    assert text.partition(MARKS[0])[2].partition(MARKS[1])[0] == table()


def test_one_of_the_scopes_that_are_named_opens_an_operation_and_all_others_do_not(
    people: Cast, subtests: pytest.Subtests
) -> None:
    asking = Foreign(people)
    admin = User.objects.get(email="admin@provider.org")
    known = frozenset(api_tokens.scopes_of(admin))

    def opens(scopes: frozenset[str], method: str, path: str) -> bool:
        who = ",".join(sorted(scopes))
        if who not in asking.bearers:
            _, text = api_tokens.issue(admin, name="x", scopes=scopes, days=1)
            asking.bearers[who] = {"Authorization": f"Bearer {text}"}
        address = filled(path, people.ids, "")
        status, code, _ = asking.ask(who, method, address, body_of(method, path))
        return (status, code) != (403, "insufficient_scope")

    for method, path, operation in operations():
        if not required(operation):
            continue
        with subtests.test(f"{method} {path}"):
            assert not opens(known - {*required(operation)}, method, path)
            if path.rpartition("/")[2] not in (*BY_KIND, "wish") or method == "get":
                for scope in known & {*required(operation)}:
                    assert opens(frozenset({scope}), method, path), scope


# --- By the kind of a job ------------------------------------------------------------------------


@pytest.fixture
def admin() -> User:
    return make.staff_user()


def steer(asking: Program, kind: str, verb: str, there: Scene) -> Any:
    """The answer to a decision about a job of this kind."""
    fields: dict[str, Any] = {"volume": None} if kind in ("prepare-ssd", "replace-member") else {}
    row = job(there, kind=kind, dry_run=verb == "apply", **fields)
    method, body = "post", None
    if verb == "resolve":
        body = {"why": "Done by hand."}
    if verb == "window":
        method, body = "put", {"start": "02:00", "end": "05:00"}
    return asking.send(method, f"/jobs/{row.key}/{verb}", body, **{"Idempotency-Key": row.key})


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
    if Scope.DESTROY in scopes and verb not in ("apply", "resume", "window"):
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

"""Tokens through the API: no token makes one that can do more than itself."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from jobs.models import Job
from panel.accounts import api_tokens, people, token_expiry
from panel.models import ApiToken, SecurityEntry, User
from storage.access import StaffRole
from storage.byte_sizes import GIB
from tests import make
from tests.panel.api.asking import V1, Program, problem, program, staff
from tests.scene import scene

pytestmark = pytest.mark.django_db
READ = {"name": "ci", "scopes": ["read"]}


@pytest.fixture
def admin() -> Program:
    return staff("admin")


def as_token(text: str, user: User) -> Program:
    return Program(user, text)


def test_a_token_is_made_listed_and_revoked(admin: Program) -> None:
    made = admin.send("post", "/tokens/", {**READ, "days": 3})
    assert made.status_code == 201, made.content
    path = made["Location"].removeprefix(V1)
    new = as_token(made.json()["text"], admin.user)
    assert new.get("/").json()["token"]["name"] == "ci"
    assert "text" not in admin.get(path).json()
    assert made.json()["key"] in [each["key"] for each in admin.get("/tokens/").json()["items"]]
    assert admin.send("delete", path).status_code == 204
    problem(new.get("/"), 401, "authentication_failed")
    assert admin.get(path).json()["revoked_at"] is not None
    assert SecurityEntry.objects.filter(kind="token_revoked").exists()


def test_a_token_says_what_it_is_and_when_it_ends(admin: Program) -> None:
    token = ApiToken.objects.get()
    shown = admin.get("/").json()["token"]
    assert shown["key"] == token.key
    assert shown["expires_at"].startswith(f"{token.expires_at:%Y-%m-%dT%H:%M}")
    assert shown["scopes"] == token.scopes


def test_a_token_gives_no_scope_that_it_has_not(admin: Program) -> None:
    narrow = program(admin.user, "read", "tokens:write")
    body = {"name": "x", "scopes": ["read", "volumes:destroy"]}
    [fault] = problem(narrow.send("post", "/tokens/", body), 422, "invalid")["errors"]
    assert (fault["pointer"], fault["code"]) == ("/scopes", "beyond_own")
    wide = api_tokens.issue(admin.user, name="wide", scopes=["read", "volumes:destroy"], days=1)[0]
    answer = narrow.send("post", f"/tokens/{wide.key}/rotate", {})
    problem(answer, 422, "invalid")
    reader = program(admin.user, "read")
    problem(reader.send("post", "/tokens/", READ), 403, "insufficient_scope")


def test_a_rotated_token_works_beside_the_new_one_until_the_overlap_is_over(
    admin: Program,
) -> None:
    old, text = api_tokens.issue(
        admin.user, name="billing", scopes=["read"], days=9, networks=["127.0.0.0/8"]
    )
    answer = admin.send("post", f"/tokens/{old.key}/rotate", {"overlap_hours": 1})
    assert answer.status_code == 201, answer.content
    new = answer.json()
    assert (new["name"], new["scopes"]) == ("billing", ["read"])
    assert new["networks"] == ["127.0.0.0/8"]
    for each in (text, new["text"]):
        assert as_token(each, admin.user).get("/").status_code == 200
    old.refresh_from_db()
    assert abs(old.expires_at - timezone.now() - timedelta(hours=1)) < timedelta(minutes=1)
    ApiToken.objects.filter(pk=old.pk).update(expires_at=timezone.now())
    problem(as_token(text, admin.user).get("/"), 401, "authentication_failed")
    problem(admin.send("post", f"/tokens/{old.key}/rotate", {}), 409, "ended")


def test_a_token_that_a_token_made_does_not_outlive_it_and_names_it(admin: Program) -> None:
    mother = ApiToken.objects.get()
    made = admin.send("post", "/tokens/", {**READ, "days": 366}).json()
    assert made["made_by"] == mother.key
    child = ApiToken.objects.get(key=made["key"])
    assert child.expires_at == mother.expires_at
    assert admin.get(f"/tokens/{mother.key}").json()["made_by"] is None


def test_a_token_is_revoked_with_all_that_come_from_it(admin: Program) -> None:
    wide = {"name": "ci", "scopes": ["read", "tokens:write"]}
    mother = admin.send("post", "/tokens/", wide).json()
    child = as_token(mother["text"], admin.user).send("post", "/tokens/", wide).json()
    turned = admin.send("post", f"/tokens/{child['key']}/rotate", {}).json()
    assert turned["made_by"] == child["key"]
    other = admin.send("post", "/tokens/", READ).json()
    assert admin.send("delete", f"/tokens/{mother['key']}?made=true").status_code == 204
    for each in (mother, child, turned):
        problem(as_token(each["text"], admin.user).get("/"), 401, "authentication_failed")
    assert as_token(other["text"], admin.user).get("/").status_code == 200


def test_a_token_is_ended_and_stays_in_the_list(admin: Program) -> None:
    made = admin.send("post", "/tokens/", {**READ, "days": 3}).json()
    ended = admin.send("post", f"/tokens/{made['key']}/end")
    assert (ended.status_code, ended.json()["live"]) == (200, False)
    assert ended.json()["person"]["email"] == ended.json()["user"] == admin.user.email
    problem(as_token(made["text"], admin.user).get("/"), 401, "authentication_failed")
    assert made["key"] in [each["key"] for each in admin.get("/tokens/").json()["items"]]


def test_a_token_that_is_revoked_alone_leaves_what_it_made(admin: Program) -> None:
    mother = admin.send("post", "/tokens/", {"name": "x", "scopes": ["read", "tokens:write"]})
    made = as_token(mother.json()["text"], admin.user).send("post", "/tokens/", READ).json()
    admin.send("delete", f"/tokens/{mother.json()['key']}?forget=true")
    assert as_token(made["text"], admin.user).get("/").status_code == 200
    assert admin.get(f"/tokens/{made['key']}").json()["made_by"] == mother.json()["key"]


def test_the_security_log_names_the_token_of_a_program(admin: Program) -> None:
    admin.send("post", "/tokens/", READ)
    entry = SecurityEntry.objects.filter(kind="token_made").first()
    assert entry is not None
    assert entry.detail.endswith(f", by token {ApiToken.objects.order_by('pk')[0].key}")


def test_an_overlap_does_not_prolong_a_token_that_ends_earlier(admin: Program) -> None:
    old, _ = api_tokens.issue(admin.user, name="ci", scopes=["read"], days=1)
    admin.send("post", f"/tokens/{old.key}/rotate", {"overlap_hours": 100})
    ends = ApiToken.objects.get(pk=old.pk).expires_at
    assert ends == old.expires_at


def test_a_token_opens_only_from_its_networks(admin: Program) -> None:
    body = {**READ, "networks": ["192.0.2.0/24", "2001:db8::/32"]}
    made = admin.send("post", "/tokens/", body).json()
    there = as_token(made["text"], admin.user)
    problem(there.get("/"), 401, "authentication_failed")
    for address, status in (("192.0.2.9", 200), ("2001:db8::7", 200), ("192.0.3.9", 401)):
        answer = Client(REMOTE_ADDR=address).get(f"{V1}/", headers=there.headers())
        assert answer.status_code == status, address


def test_networks_of_ipv4_are_written_as_such(admin: Program) -> None:
    body = {**READ, "networks": ["::ffff:192.0.2.0/120"]}
    made = admin.send("post", "/tokens/", body).json()
    assert made["networks"] == ["192.0.2.0/24"]
    token = as_token(made["text"], admin.user)
    for address, status in (("192.0.2.7", 200), ("::ffff:192.0.2.7", 200), ("192.0.3.7", 401)):
        answer = Client(REMOTE_ADDR=address).get(f"{V1}/", headers=token.headers())
        assert answer.status_code == status, address


def test_a_network_of_one_machine_alone_is_refused(admin: Program) -> None:
    answer = admin.send("post", "/tokens/", {**READ, "networks": ["fe80::1%eth0/128"]})
    (fault,) = problem(answer, 422, "invalid")["errors"]
    assert fault["pointer"] == "/networks"


def test_what_is_no_network_is_refused(admin: Program) -> None:
    answer = admin.send("post", "/tokens/", {**READ, "networks": ["10.0.0.0/99"]})
    [fault] = problem(answer, 422, "invalid")["errors"]
    assert fault["pointer"] == "/networks"


def test_a_token_that_is_bound_to_a_network_makes_no_free_one(admin: Program) -> None:
    _, text = api_tokens.issue(
        admin.user, name="x", scopes=["read", "tokens:write"], days=1, networks=["127.0.0.1/32"]
    )
    made = as_token(text, admin.user).send("post", "/tokens/", READ).json()
    assert made["networks"] == ["127.0.0.1/32"]
    wide = {**READ, "networks": ["0.0.0.0/0"]}
    answer = as_token(text, admin.user).send("post", "/tokens/", wide)
    assert problem(answer, 422, "invalid")["errors"][0]["pointer"] == "/networks"
    free, _ = api_tokens.issue(admin.user, name="free", scopes=["read"], days=1)
    answer = as_token(text, admin.user).send("post", f"/tokens/{free.key}/rotate", {})
    assert problem(answer, 422, "invalid")["errors"][0]["pointer"] == "/networks"


def test_an_admin_sees_all_tokens_and_takes_none_of_a_persons(admin: Program) -> None:
    other = staff("operator")
    [theirs] = ApiToken.objects.filter(user=other.user)
    assert other.get("/tokens/").json()["items"][0]["key"] == theirs.key
    assert len(other.get("/tokens/").json()["items"]) == 1
    listed = admin.get("/tokens/", user=other.user.email).json()["items"]
    assert [each["key"] for each in listed] == [theirs.key]
    answer = admin.send("post", f"/tokens/{theirs.key}/rotate", {})
    problem(answer, 403, "forbidden")
    [mine] = ApiToken.objects.filter(user=admin.user)
    problem(other.get(f"/tokens/{mine.key}"), 404, "not_found")
    assert admin.send("delete", f"/tokens/{theirs.key}").status_code == 204


def test_a_service_account_has_tokens_and_no_way_to_sign_in(admin: Program) -> None:
    body = {"name": "billing", "staff_role": "operator"}
    made = admin.send("post", "/service-accounts/", body)
    assert made.status_code == 201, made.content
    service = User.objects.get(is_service=True)
    assert made.json()["kind"] == "service"
    assert not service.has_usable_password()
    answer = admin.send("post", f"/people/{service.pk}/password-link")
    problem(answer, 422, "not_allowed")
    token = {"name": "nightly", "scopes": ["read", "volumes:write"], "user": service.email}
    text = admin.send("post", "/tokens/", token).json()["text"]
    there = scene()
    answer = as_token(text, service).put_wish(there, {"size_bytes": GIB, "mode": "writethrough"})
    assert answer.status_code == 202, answer.content
    assert Job.objects.get().actor == service
    problem(admin.send("post", "/service-accounts/", body), 422, "already_exists")
    admin.send("patch", f"/people/{service.pk}", {"active": False})
    problem(as_token(text, service).get("/"), 401, "authentication_failed")


def test_only_an_admin_makes_tokens_of_a_service_account(admin: Program) -> None:
    service = people.add_service("billing", StaffRole.OPERATOR, admin.user)
    operator = staff("operator")
    answer = operator.send("post", "/tokens/", {**READ, "user": service.email})
    problem(answer, 403, "forbidden")
    answer = admin.send("post", "/tokens/", {**READ, "user": operator.user.email})
    problem(answer, 422, "invalid")


def test_a_service_account_is_no_admin_that_could_let_others_in(admin: Program) -> None:
    people.add_service("root", StaffRole.ADMIN, admin.user)
    answer = admin.send("patch", f"/people/{admin.user.pk}", {"staff_role": "operator"})
    problem(answer, 422, "last_admin")


def warnings() -> list[Any]:
    return [each for each in mail.outbox if "expires" in each.subject]


@pytest.mark.parametrize("is_service", [False, True])
def test_the_owner_is_warned_a_week_before_a_token_in_use_expires(
    admin: Program, settings: Settings, is_service: bool
) -> None:
    settings.SMTP_HOST = "mail.example"
    owner = (
        people.add_service("billing", StaffRole.OPERATOR, admin.user)
        if is_service
        else (make.staff_user())
    )
    token, _ = api_tokens.issue(owner, name="nightly", scopes=["read"], days=90)
    ApiToken.objects.filter(pk=token.pk).update(
        created_at=timezone.now() - timedelta(days=84),
        expires_at=timezone.now() + timedelta(days=6),
    )
    token_expiry.warn()
    assert warnings() == []
    ApiToken.objects.filter(pk=token.pk).update(last_used_at=timezone.now())
    token_expiry.warn()
    token_expiry.warn()
    [message] = warnings()
    assert message.to == [(admin.user if is_service else owner).email]
    assert "nightly" in message.body


def test_a_token_that_was_replaced_sends_no_warning(admin: Program, settings: Settings) -> None:
    settings.SMTP_HOST = "mail.example"
    token, _ = api_tokens.issue(admin.user, name="nightly", scopes=["read"], days=90)
    ApiToken.objects.filter(pk=token.pk).update(
        created_at=timezone.now() - timedelta(days=84), last_used_at=timezone.now()
    )
    api_tokens.rotate(token, days=90, overlap=timedelta(days=2))
    token_expiry.warn()
    assert warnings() == []


def test_previewing_reading_and_destroying_are_apart(admin: Program) -> None:
    there = scene()
    cache = {"size_bytes": GIB, "mode": "writethrough"}
    previewing = program(admin.user, "read", "volumes:preview")
    assert previewing.put_wish(there, cache, query="?dry_run=true").status_code == 202
    problem(previewing.put_wish(there, cache), 403, "insufficient_scope")
    gone = {"life": "gone", "confirm_label": there.volume.label}
    path = f"/volumes/{there.volume.key}/wish"
    key = {"Idempotency-Key": "k"}
    writing = program(admin.user, "read", "volumes:write")
    body = problem(writing.send("put", path, gone, **key), 403, "insufficient_scope")
    assert "volumes:destroy" in body["correction"]
    destroying = program(admin.user, "read", "volumes:destroy")
    problem(destroying.put_wish(there, cache), 403, "insufficient_scope")
    problem(destroying.send("put", path, gone, **key), 422, "not_retired")

"""A program can delete what it made; or the refusal says why not, and what to do instead."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from panel.accounts import api_tokens, people
from panel.models import AlertRoute, ApiToken, SecurityEntry, User
from storage.access import StaffRole
from tests import make
from tests.panel.api.asking import V1, Program, problem, program, staff
from tests.panel.api.test_openapi import described
from tests.scene import job, scene

KEPT = "A row of the history: it is kept, and holds nothing up."
WORK = "It starts work and makes nothing else: a job ends, or is cancelled."
SIGNED = "The billing system's own: what it made is taken away by its own calls, or by people."
DELETED = {
    "/adoptions/": "/volumes/{key}/adoption",
    "/alert-routes/": "/alert-routes/{key}",
    "/benchmarks/{key}/share": "/benchmarks/{key}/share",
    "/cache-plans/": "/cache-plans/{key}",
    "/customers/": "/customers/{key}",
    "/customers/{key}/members": "/members/{key}",
    "/hosts/": "/hosts/{key}",
    "/invitations/": "/invitations/{key}",
    "/invitations/{key}/again": "/invitations/{key}",
    "/people/{key}/password-link": "/invitations/{key}",
    "/service-accounts/": "/people/{key}",
    "/silences/": "/silences/{key}",
    "/tag-limits/": "/tag-limits/{key}",
    "/tokens/": "/tokens/{key}",
    "/tokens/{key}/rotate": "/tokens/{key}",
    "/volumes/": "/volumes/{key}",
    "/volumes/{key}/traces": "/volumes/{key}/traces/{trace}",
    "/webhooks/": "/webhooks/{key}",
}
"""By what makes something, what takes it away."""
REASONS = {
    "/alert-routes/{key}/messages/{message}/again": "The same message once more.",
    "/alert-routes/{key}/test": "The message goes with its route.",
    "/benchmarks/": KEPT + " POST …/cancel ends what has not begun.",
    "/benchmarks/estimate": "It makes nothing.",
    "/benchmarks/import": KEPT,
    "/benchmarks/verify": "It makes nothing.",
    "/benchmarks/{key}/cancel": "It ends something.",
    "/benchmarks/{key}/pause": "POST …/resume goes on.",
    "/benchmarks/{key}/resume": "POST …/pause rests again.",
    "/bulk-changes/": KEPT + " POST …/cancel ends what has not begun.",
    "/gates/": KEPT + " POST /benchmarks/{key}/cancel ends what has not begun.",
    "/gates/{key}/bisect": KEPT + " POST /benchmarks/{key}/cancel ends what has not begun.",
    "/gates/{key}/plan": "It is an answer, which decides how much is measured.",
    "/gates/{key}/skip": "It is an answer: that kernel is not measured.",
    "/hosts/{key}/accept": "It is an answer; the host is removed as a whole.",
    "/hosts/{key}/arrays/{array}/check": WORK,
    "/hosts/{key}/arrays/{array}/members": WORK,
    "/hosts/{key}/disks/{disk}/tests": WORK,
    "/hosts/{key}/enrolment": "The line works once and for a while; a new one ends it.",
    "/hosts/{key}/refresh": WORK,
    "/hosts/{key}/ssds": WORK,
    "/messages/test": "A message that was sent; it is forgotten with time.",
    "/messages/": "A message that was sent; it is forgotten with time.",
    "/messages/enable": "A switch.",
    "/messages/{name}/again": "The same message once more.",
    "/orders/{key}/revert": KEPT + " POST …/cancel ends what has not begun.",
    "/volumes/{key}/cache/drop": WORK,
    "/volumes/{key}/drift/accept": "It changes a record.",
    "/volumes/{key}/drift/repair": WORK,
    "/volumes/{key}/orders": KEPT + " POST …/cancel ends what has not begun.",
    "/webhooks/{key}/deliveries/{delivery}/redeliver": "The same message once more.",
    "/webhooks/{key}/secret": "It replaces one.",
    "/webhooks/{key}/test": "The message goes with its webhook.",
    **{
        f"/jobs/{{key}}/{act}": WORK
        for act in ("apply", "cancel", "pace", "resolve", "resume", "rollback")
    },
    "/bulk-changes/{key}/cancel": "It ends something.",
    "/hosts/{key}/missing/settle": "It ends something.",
    "/orders/{key}/cancel": "It ends something.",
    "/silences/{key}/end": "It ends something.",
    "/tokens/{key}/end": "It ends something.",
}


def test_what_is_made_by_post_is_deleted_or_there_is_a_reason() -> None:
    paths = described()["paths"]
    made = {path.removeprefix(V1) for path, operations in paths.items() if "post" in operations}
    made = {path for path in made if not path.startswith("/billing/")}
    assert sorted(made - set(DELETED) - set(REASONS)) == []
    assert sorted((set(DELETED) | set(REASONS)) - made) == []
    for path in DELETED.values():
        answers = paths[V1 + path]["delete"]["responses"]
        assert "204" in answers or "200" in answers, path


def test_what_may_be_refused_to_be_deleted_says_so() -> None:
    paths = described()["paths"]
    refusing = {
        path for path in DELETED.values() if "409" in paths[V1 + path]["delete"]["responses"]
    }
    assert refusing == {
        "/cache-plans/{key}",
        "/customers/{key}",
        "/hosts/{key}",
        "/people/{key}",
        "/volumes/{key}",
        "/volumes/{key}/adoption",
    }


@pytest.fixture
def admin() -> Program:
    return staff("admin")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/customers/", {"name": "Acme"}),
        (
            "/cache-plans/",
            {"name": "Boost", "size_bytes": 1 << 30, "price_minor": 490, "currency": "EUR"},
        ),
        ("/service-accounts/", {"name": "billing", "staff_role": "operator"}),
        ("/webhooks/", {"name": "CRM", "address": "https://scripts.example.org/"}),
        ("/alert-routes/", {"name": "CRM", "kind": "webhook", "address": "https://example.org/"}),
    ],
)
def test_what_was_just_made_is_deleted_and_gone(admin: Program, path: str, body: Any) -> None:
    made = admin.send("post", path, body)
    assert made.status_code == 201, made.content
    where = made["Location"].removeprefix(V1)
    assert admin.send("delete", where).status_code == 204
    problem(admin.get(where), 404, "not_found")
    problem(admin.send("delete", where), 404, "not_found")


@pytest.mark.django_db
def test_a_revoked_token_stays_in_the_list_until_it_is_forgotten(admin: Program) -> None:
    made = admin.send("post", "/tokens/", {"name": "ci", "scopes": ["read"]}).json()
    where = made["url"].removeprefix(V1)
    assert admin.send("delete", where).status_code == 204
    assert admin.get(where).json()["revoked_at"] is not None
    assert admin.send("delete", f"{where}?forget=true").status_code == 204
    problem(admin.get(where), 404, "not_found")
    assert not ApiToken.objects.filter(key=made["key"]).exists()
    details = SecurityEntry.objects.filter(kind="token_revoked").values_list("detail", flat=True)
    assert sum(made["key"] in each and "ci" in each for each in details) == 2


@pytest.mark.django_db
def test_a_live_token_is_revoked_and_forgotten_at_once(admin: Program) -> None:
    token, text = api_tokens.issue(admin.user, name="ci", scopes=["read"], days=1)
    assert admin.send("delete", f"/tokens/{token.key}?forget=true").status_code == 204
    problem(Program(admin.user, text).get("/"), 401, "authentication_failed")
    problem(admin.send("delete", f"/tokens/{token.key}?forget=maybe"), 400, "invalid_parameter")
    problem(admin.send("delete", f"/tokens/{token.key}"), 404, "not_found")


@pytest.mark.django_db
def test_no_person_forgets_the_token_of_another(admin: Program) -> None:
    operator = staff("operator")
    [mine] = ApiToken.objects.filter(user=admin.user)
    problem(operator.send("delete", f"/tokens/{mine.key}?forget=true"), 404, "not_found")
    assert ApiToken.objects.filter(pk=mine.pk).exists()


@pytest.mark.django_db
def test_a_service_account_that_did_something_is_kept_and_ended(admin: Program) -> None:
    service = people.add_service("billing", StaffRole.OPERATOR, admin.user)
    job(scene(), actor=service)
    body = problem(admin.send("delete", f"/people/{service.pk}"), 409, "in_use")
    assert "jobs" in body["detail"]
    assert "active" in body["correction"]
    assert User.objects.filter(pk=service.pk).exists()


@pytest.mark.django_db
def test_a_service_account_goes_with_its_tokens_and_the_log_names_it(admin: Program) -> None:
    service = people.add_service("billing", StaffRole.OPERATOR, admin.user)
    asking = program(service, "read")
    assert admin.send("delete", f"/people/{service.pk}").status_code == 204
    problem(asking.get("/"), 401, "authentication_failed")
    entry = SecurityEntry.objects.latest("id")
    assert (entry.person, entry.actor) == (service.email, admin.user.email)
    assert entry.detail.startswith("deleted, by token ")


@pytest.mark.django_db
def test_a_person_who_was_only_invited_is_deleted(admin: Program) -> None:
    person = make.user()
    make.customer().members.create(user=person)
    assert admin.send("delete", f"/people/{person.pk}").status_code == 204
    assert not User.objects.filter(pk=person.pk).exists()


@pytest.mark.django_db
def test_an_alert_recipient_is_kept_until_there_is_another(admin: Program) -> None:
    person = make.staff_user()
    route = AlertRoute.objects.create(name="On call", kind="email", user=person)
    body = problem(admin.send("delete", f"/people/{person.pk}"), 409, "in_use")
    assert "On call" in body["detail"]
    route.delete()
    assert admin.send("delete", f"/people/{person.pk}").status_code == 204


@pytest.mark.django_db
def test_no_admin_deletes_their_own_account_or_the_last_admin(admin: Program) -> None:
    problem(admin.send("delete", f"/people/{admin.user.pk}"), 422, "not_allowed")
    service = people.add_service("root", StaffRole.ADMIN, admin.user)
    asking = program(service)
    problem(asking.send("delete", f"/people/{admin.user.pk}"), 422, "last_admin")
    operator = staff("operator")
    problem(operator.send("delete", f"/people/{service.pk}"), 403, "insufficient_scope")


@pytest.mark.django_db
def test_an_ended_silence_stays_as_what_was_quiet_and_why(admin: Program) -> None:
    until = (timezone.now() + timedelta(days=1)).isoformat()
    made = admin.send("post", "/silences/", {"code": "drift", "reason": "known", "until": until})
    where = made["Location"].removeprefix(V1)
    assert admin.send("delete", where).status_code == 200
    assert admin.get(where).json()["reason"] == "known"

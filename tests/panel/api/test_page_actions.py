"""What a person can do on the pages, a program can do too; and every operation of the API has its
line in the table of who may do what."""

from __future__ import annotations

from tests.panel.api.test_openapi import described, patterns
from tests.panel.permissions import ROLES, TABLE, Row

OWN = "It is about one's own browser, password or screen; a program has none."
LINK = "A person follows a link that only they were sent."
SCREEN = (
    "A person opens the address on a screen; programs read the figures that it shows elsewhere."
)
MAIL = (
    "The test message is of use to the reader of the mailbox; `manage.py doctor` asks the server."
)
ROUTES = {
    "adopt": "api-adoptions",
    "adopt-confirm": "api-adoptions",
    "adopt-tag": "api-volume-wish",
    "adopt-undo": "api-volume-adoption",
    "alert-acknowledge": "api-alert-acknowledgement",
    "alert-message-again": "api-alert-message-again",
    "alert-route": "api-alert-route",
    "alert-route-delete": "api-alert-route",
    "alert-route-new": "api-alert-routes",
    "alert-route-test": "api-alert-route-test",
    "alert-unacknowledge": "api-alert-acknowledgement",
    "gate-accept": "api-gate-acceptance",
    "gate-bisect": "api-gate-bisect",
    "gate-new": "api-gates",
    "gate-plan": "api-gate-plan",
    "gate-revoke": "api-gate-acceptance",
    "gate-skip": "api-gate-skip",
    "benchmark-cancel": "api-benchmark-cancel",
    "benchmark-import": "api-benchmark-import",
    "benchmark-new": "api-benchmarks",
    "benchmark-pause": "api-benchmark-pause",
    "benchmark-resume": "api-benchmark-resume",
    "benchmark-share": "api-benchmark-share",
    "benchmark-unshare": "api-benchmark-share",
    "billing-again": "api-message-again",
    "billing-enable": "api-billing-enable",
    "billing-test": "api-messages",
    "cache-drop": "api-volume-cache-drop",
    "cache-flush": "api-volume-wish",
    "cache-form": "api-volume-wish",
    "cache-plan": "api-cache-plan",
    "cache-plan-delete": "api-cache-plan",
    "cache-plan-new": "api-cache-plans",
    "cache-plan-offer": "api-cache-plan",
    "cache-remove": "api-volume-wish",
    "cache-replace": "api-volume-wish",
    "customer-delete": "api-customer",
    "customer-edit": "api-customer",
    "customer-mandate": "api-mandate",
    "customer-new": "api-customers",
    "customer-suspend": "api-customer-suspension",
    "customer-unsuspend": "api-customer-suspension",
    "host-accept": "api-host-accept",
    "host-address": "api-host",
    "host-allocation-preview": "api-volume-wish",
    "host-array-check": "api-host-array-check",
    "host-disk-accept": "api-host-disk",
    "host-disk-enter": "api-host-disk",
    "host-disk-test": "api-host-disk-tests",
    "host-disk-undo": "api-host-disk",
    "host-enrol": "api-host-enrolment",
    "host-fault-accept": "api-host-fault-acceptance",
    "host-fault-revoke": "api-host-fault-acceptance",
    "host-labels": "api-host",
    "host-loss-accept": "api-host-loss-acceptance",
    "host-loss-revoke": "api-host-loss-acceptance",
    "host-maintenance": "api-host-maintenance",
    "host-maintenance-end": "api-host-maintenance",
    "host-missing": "api-host-missing",
    "host-new": "api-hosts",
    "host-refresh": "api-host-refresh",
    "host-remove": "api-host",
    "host-ssd": "api-host-ssds",
    "host-tag-limit": "api-tag-limits",
    "host-window": "api-host",
    "host-cache-window": "api-host",
    "host-limits": "api-host",
    "host-member": "api-host-array-members",
    "invitation-change": "api-invitation-again",
    "job-cancel": "api-job-cancel",
    "job-pace": "api-job-pace",
    "job-window": "api-job-window",
    "job-resolve": "api-job-resolve",
    "job-resume": "api-job-resume",
    "job-rollback": "api-job-rollback",
    "jobs-resume": "api-halt",
    "jobs-stop": "api-halt",
    "member": "api-member",
    "my-order-cancel": "api-order-cancel",
    "my-order-revert": "api-order-revert",
    "my-plan-confirm": "api-volume-orders",
    "people": "api-invitations",
    "person-customers": "api-customer-members",
    "person-deactivate": "api-person",
    "person-password": "api-person-password",
    "person-reactivate": "api-person",
    "person-role": "api-person",
    "person-signout": "api-person-sessions",
    "own-alerts-change": "api-own-alert-route",
    "preview-apply": "api-job-apply",
    "silence-end": "api-silence",
    "silence-new": "api-silences",
    "token-revoke": "api-token",
    "tokens": "api-tokens",
    "volume-customer": "api-volume",
    "volume-destroy": "api-volume-wish",
    "volume-discard": "api-volume",
    "volume-drift-accept": "api-volume-drift-accept",
    "volume-extend": "api-volume-wish",
    "volume-heat": "api-volume",
    "volume-move": "api-volume-wish",
    "volume-new": "api-volumes",
    "volume-record": "api-volume",
    "volume-repair": "api-volume-drift-repair",
    "volume-restore": "api-volume-wish",
    "volume-retire": "api-volume-wish",
    "volume-tag": "api-volume-wish",
    "volume-trace-cancel": "api-volume-trace",
    "volume-trace-new": "api-volume-traces",
    "volume-watch": "api-volume-watch",
    "webhook": "api-webhook",
    "webhook-delete": "api-webhook",
    "webhook-message-again": "api-webhook-redeliver",
    "webhook-new": "api-webhooks",
    "webhook-secret": "api-webhook-secret",
    "webhook-test": "api-webhook-test",
    "volumes-bulk": "api-bulk-changes",
    "volumes-bulk-cancel": "api-bulk-change-cancel",
    "volumes-bulk-commands": "api-volume-wish",
    "volumes-bulk-confirm": "api-bulk-changes",
}
REASONS = {
    "no-alert-recipients": "It puts a hint of a page away.",
    "enrol-script": LINK,
    "forgotten": LINK,
    "kiosk-link-revoke": SCREEN,
    "kiosk-links": SCREEN,
    "invitation": LINK,
    "language": OWN,
    "login-link": LINK,
    "my-heat": "The API changes records of volumes for staff alone; an owner asks them, or clicks.",
    "notices": OWN,
    "notices-off": LINK,
    "session-end": OWN,
    "sessions-end": OWN,
    "settings": "It looks at what `manage.py doctor` looks at, and changes nothing.",
    "settings-mail": MAIL,
    "ssd-price": "One page works with this figure, for the pay-back; nothing is sold by it.",
    "step-up": OWN,
    "tour": OWN,
    "view-delete": OWN,
    "volume-live": "It fills a page that a person looks at, second by second.",
    "view-save": OWN,
}


def page_actions() -> set[str]:
    """The pages that change something, by the table of permissions, which names every route."""
    return {row.name for row in TABLE if not row.is_api and row.method != "GET"}


def test_every_action_of_a_page_has_a_route_or_a_reason() -> None:
    assert sorted(page_actions() - set(ROUTES) - set(REASONS)) == []
    assert sorted((set(ROUTES) | set(REASONS)) - page_actions()) == []


def test_the_routes_are_there_and_change_something() -> None:
    changing = {row.name for row in TABLE if row.is_api and row.method != "GET"}
    assert sorted(set(ROUTES.values()) - changing) == []


SAYS_NO = (
    "The page of the volume tells a viewer that only owners and operators order; the API: 403."
)
OTHER_ROLES = {
    "api-order-cancel": SAYS_NO,
    "api-order-revert": SAYS_NO,
    "api-volume-orders": SAYS_NO,
    "api-token": "A person revokes their own at the page; an admin's program those of all.",
}
BY_BODY = {"volume-destroy": "What the body asks for decides: see tests/panel/api/volumes."}


def roles_of(row: Row) -> frozenset[str]:
    outcomes = zip(ROLES, row.outcomes.split(), strict=True)
    return frozenset(role for role, outcome in outcomes if outcome == "in")


def test_a_route_lets_in_whom_its_page_lets_in() -> None:
    changing = [row for row in TABLE if row.method != "GET"]
    at_routes = {
        (row.name, row.method): roles_of(row) for row in changing if row.name in ROUTES.values()
    }
    at_pages: dict[str, dict[str, frozenset[str]]] = {}
    for row in changing:
        if row.name in ROUTES:
            at_pages.setdefault(ROUTES[row.name], {})[row.name] = roles_of(row)
    strange = {
        f"{method} {name}": (sorted(roles), at_pages[name])
        for (name, method), roles in at_routes.items()
        if roles not in at_pages[name].values() and name not in OTHER_ROLES
    }
    assert strange == {}
    lost = {
        page: sorted(roles)
        for name, pages in at_pages.items()
        for page, roles in pages.items()
        if roles not in [all_in for (route, _), all_in in at_routes.items() if route == name]
        and name not in OTHER_ROLES
    }
    assert set(lost) == set(BY_BODY)


def test_every_operation_of_the_description_has_a_line_in_the_table_of_permissions() -> None:
    routes = patterns()
    operations = {
        (routes[path].name, method.upper())
        for path, methods in described()["paths"].items()
        for method in methods
    }
    lines = {(row.name, row.method) for row in TABLE}
    assert sorted(operations - lines) == []
    hidden = {"api-metrics", "api-openapi", "api-openapi-yaml", "api-nothing", "api-nowhere"}
    listed = {line for line in lines if str(line[0]).startswith("api-")}
    assert sorted(name for name, _ in listed - operations if name not in hidden) == []

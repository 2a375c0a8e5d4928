"""Which actions need a fresh proof of identity, because their effect outlives the session
(`panel.accounts.authentication.step_up`).

Every route of the panel has a line; a route without one is treated as if its changes gave lasting
power. A middleware enforces this for pages. The API needs nothing more: a session cannot change
anything there, only a token can, and creating a token needs a fresh proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Final

from django.http import HttpRequest
from django.urls import Resolver404, ResolverMatch, resolve, reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as marked

SAFE = ("GET", "HEAD", "OPTIONS")


class Demand(StrEnum):
    """When a route asks for a fresh proof."""

    NEVER = auto()
    """It gives no power that lasts, or takes some away from its own person alone."""
    CHANGE = auto()
    """Before it changes anything; it may be looked at."""
    ALWAYS = auto()
    """Also before it is shown: it shows a secret, or is nothing but a form for such a change."""
    ITSELF = auto()
    """The view asks: it depends on what is ordered, confirmed or shown."""
    TOKEN = auto()
    """A route of the API: sessions read there, tokens and signatures change."""
    LINK = auto()
    """What lets in is the one-time token in the address, or what is typed to sign in."""


@dataclass(frozen=True, slots=True)
class Act:
    """What a route asks for, and the page to come back to from the proof: the route's own where it
    is "", another one with the same arguments (`back`) or with none (`list_`). With `has_secrets`
    what was typed is in no page: it is typed again after the proof."""

    demand: Demand
    back: str = ""
    list_: str = ""
    has_secrets: bool = False

    def place(self, request: HttpRequest, match: ResolverMatch) -> str:
        """The address of that page; it shows itself on GET."""
        if self.list_:
            return reverse(self.list_)
        if self.back:
            return reverse(self.back, args=match.args, kwargs=match.kwargs)
        return request.get_full_path()


def demand_by_route(request: HttpRequest) -> str | None:
    """Where to come back to from the proof that this request takes by its route; None where it
    takes none, or where its view asks."""
    match = request.resolver_match
    if match is None:
        return None
    act = POLICY.get(match.view_name, UNKNOWN)
    is_change = request.method not in SAFE
    if act.demand is Demand.ALWAYS or (act.demand is Demand.CHANGE and is_change):
        return act.place(request, match)
    return None


def has_secrets(name: str) -> bool:
    """Whether a secret may be typed where this route's form is."""
    return POLICY.get(name, UNKNOWN).has_secrets


def _each(demanded: Demand, *names: str, has_secrets: bool = False) -> dict[str, Act]:
    return dict.fromkeys(names, Act(demanded, has_secrets=has_secrets))


NAMES: Final[Mapping[str, str]] = {
    "people": "Invite or change people",
    "person": "Change a person",
    "tokens": marked("API tokens"),
    "sessions": marked("Sessions"),
    "account_change_password": marked("Change password"),
    "account_set_password": marked("Change password"),
    "account_email": marked("E-mail"),
    **dict.fromkeys(
        (
            "mfa_edit_webauthn",
            "mfa_activate_totp",
            "mfa_deactivate_totp",
            "mfa_add_webauthn",
            "mfa_remove_webauthn",
        ),
        marked("Two-factor authentication"),
    ),
    **dict.fromkeys(
        (
            "mfa_view_recovery_codes",
            "mfa_generate_recovery_codes",
            "mfa_download_recovery_codes",
        ),
        marked("Recovery codes"),
    ),
    "host-new": "Add a host",
    "host-enrol": "Renew an enrolment command",
    "host": "Accept a host's key",
    "host-remove": "Remove a host",
    "host-history": "Accept a kernel fault",
    "benchmark": "Share a benchmark",
    "kiosk-links": "Add a screen",
    "host-settings": "Change a host's address",
    "alert-routes": "Change who is told of alerts",
    "alert-route-new": "Add an alert recipient",
    "alert-route": "Change an alert recipient",
    "webhook-new": "Add a webhook",
    "webhook": "Change a webhook",
    "customer": "Suspend or resume a customer",
    "customer-mandate": "Change a payment authorisation",
    "cache-plan-new": "Create a plan",
    "cache-plan": "Change a plan",
    "job": "Let a job change a host",
    "my-plan-confirm": marked("Order"),
    "my-order-revert": marked("Undo order"),
}
"""What is done on the page that a proof leads back to, for the person who is asked for it."""


def name_of_action(address: str) -> str:
    """The same by the page's address; "" for one that asks for no proof."""
    try:
        name = NAMES.get(resolve(address.partition("?")[0]).view_name, "")
    except Resolver404:
        return ""
    return gettext(name) if name else ""


UNKNOWN = Act(Demand.CHANGE, has_secrets=True)
POLICY: Mapping[str, Act] = {
    # People and their roles
    "people": Act(Demand.CHANGE),
    "person-role": Act(Demand.CHANGE, "person"),
    "person-deactivate": Act(Demand.CHANGE, "person"),
    "person-reactivate": Act(Demand.CHANGE, "person"),
    "person-password": Act(Demand.CHANGE, "person"),
    "person-signout": Act(Demand.CHANGE, "person"),
    "person-customers": Act(Demand.CHANGE, "person"),
    "member": Act(Demand.CHANGE, list_="people"),
    "invitation-change": Act(Demand.CHANGE, list_="people"),
    # What opens one's own account
    "tokens": Act(Demand.CHANGE),
    "session-end": Act(Demand.CHANGE, list_="sessions"),
    "sessions-end": Act(Demand.CHANGE, list_="sessions"),
    "account_email": Act(Demand.CHANGE),
    "mfa_edit_webauthn": Act(Demand.CHANGE),
    **_each(
        Demand.ALWAYS,
        "account_change_password",
        "account_set_password",
        "mfa_activate_totp",
        "mfa_deactivate_totp",
        "mfa_add_webauthn",
        "mfa_remove_webauthn",
        "mfa_view_recovery_codes",
        "mfa_generate_recovery_codes",
        "mfa_download_recovery_codes",
        has_secrets=True,
    ),
    # Hosts: enrolling them, and the keys they are known by; the view shows the line after a proof
    "host-new": Act(Demand.CHANGE),
    "host-enrol": Act(Demand.CHANGE),
    "host-accept": Act(Demand.CHANGE, "host"),
    "host-remove": Act(Demand.CHANGE),
    "host-fault-accept": Act(Demand.CHANGE, "host-history"),
    "host-address": Act(Demand.CHANGE, "host-settings"),
    # Where the panel sends what it knows, and what signs it
    "alert-route-new": Act(Demand.CHANGE, has_secrets=True),
    "alert-route": Act(Demand.CHANGE, has_secrets=True),
    "webhook-new": Act(Demand.CHANGE, has_secrets=True),
    "webhook": Act(Demand.CHANGE, has_secrets=True),
    "webhook-secret": Act(Demand.CHANGE, "webhook"),
    "alert-route-delete": Act(Demand.CHANGE, "alert-route"),
    "alert-routes-nobody": Act(Demand.CHANGE, list_="alert-routes"),
    "benchmark-share": Act(Demand.CHANGE, "benchmark"),
    "webhook-delete": Act(Demand.CHANGE, "webhook"),
    "kiosk-links": Act(Demand.CHANGE),
    # What is sold, to whom, and for how much
    "customer-mandate": Act(Demand.ALWAYS),
    "customer-suspend": Act(Demand.CHANGE, "customer"),
    "customer-unsuspend": Act(Demand.CHANGE, "customer"),
    "cache-plan-new": Act(Demand.CHANGE),
    "cache-plan": Act(Demand.CHANGE),
    "cache-plan-offer": Act(Demand.CHANGE, "cache-plan"),
    "cache-plan-delete": Act(Demand.CHANGE, "cache-plan"),
    # What costs money or destroys data
    **_each(Demand.ITSELF, "preview-apply", "my-plan-confirm", "my-order-revert"),
    **_each(Demand.ITSELF, "job-resume", "job-rollback", "job-resolve", "job-window"),
    # Who comes in
    **_each(
        Demand.LINK,
        "account_login",
        "account_signup",
        "account_inactive",
        "account_confirm_login_code",
        "forgotten",
        "account_reset_password",
        "account_reset_password_done",
        "account_confirm_email",
        "account_reset_password_from_key",
        "account_reset_password_from_key_done",
        "account_email_verification_sent",
        "mfa_authenticate",
        "enrol-script",
        "enrol-agent",
        "invitation",
        "login-link",
        "notices-off",
        "benchmark-shared",
        "benchmark-shared-series",
        "benchmark-shared-csv",
        "benchmark-shared-json",
        "kiosk",
        "kiosk-now",
    ),
    # The proof itself, and allauth's own pages for it, which lead there
    **_each(Demand.NEVER, "step-up", "reauthenticate", "reauthenticate-factor"),
    **_each(Demand.NEVER, "reauthenticate-key", "account_reauthenticate", "mfa_reauthenticate"),
    "mfa_reauthenticate_webauthn": Act(Demand.NEVER),
    # One's own account: looked at, left, or made smaller
    **_each(
        Demand.NEVER,
        "account_logout",
        "mfa_index",
        "mfa_list_webauthn",
        "usersessions_list",
        "notices",
        "sessions",
        "token-revoke",
        "language",
        "own-alerts",
        "own-alerts-change",
    ),
    # Looking
    **_each(
        Demand.NEVER,
        "home",
        "overview",
        "health",
        "health-work",
        "search",
        "search-found",
        "running-jobs",
        "audit",
        "trail",
        "security-log",
        "audit-export",
        "person",
        "customers",
        "customer",
        "cache-plans",
        "ledger",
        "ledger-csv",
        "calibration",
        "report",
        "billing",
        "hosts",
        "host",
        "host-now",
        "host-map",
        "hosts-map",
        "host-advice",
        "host-advice-card",
        "host-volumes",
        "host-allocation",
        "host-disks",
        "host-jobs",
        "host-settings",
        "host-tags",
        "host-disk",
        "host-history",
        "host-checks",
        "volumes",
        "volume",
        "volume-details",
        "volume-figures",
        "volume-cache",
        "volume-cache-state",
        "volume-current-job",
        "volume-comparison",
        "volume-curve",
        "volume-slowness",
        "volume-history",
        "volume-trace",
        "volume-jobs",
        "volume-drift",
        "volume-loss",
        "volume-series",
        "volume-csv",
        "host-series",
        "host-csv",
        "host-marks",
        "host-who",
        "host-busy",
        "fleet-series",
        "fleet-csv",
        "fleet-marks",
        "volume-marks",
        "volumes-bulk-answer",
        "jobs",
        "job",
        "job-status",
        "job-lines",
        "job-log",
        "benchmarks",
        "benchmark",
        "benchmark-now",
        "gate",
        "host-kernels",
        "benchmark-series",
        "benchmark-csv",
        "benchmark-json",
        "benchmark-compare",
        "benchmark-compare-series",
        "benchmark-compare-csv",
        "my-volumes",
        "my-volume",
        "my-slowness",
        "my-glance",
        "my-running",
        "my-charts",
        "my-figures",
        "my-plan",
        "my-order",
        "my-order-status",
        "my-report",
        "my-change",
        "my-change-status",
        "help",
        "help-document",
        "glossary",
        "tour",
        "settings",
        "revenue",
        "settings-mail",
        "revenue-csv",
        "capacity",
        "ssd-price",
        "alerts",
        "alert",
        "silences",
        "alert-routes",
        "webhooks",
        "volume-live",
    ),
    # Day-to-day work: a preview first, or nothing that opens a door later
    **_each(
        Demand.NEVER,
        "host-refresh",
        "host-ssd",
        "host-missing",
        "host-maintenance",
        "host-maintenance-end",
        "host-disk-enter",
        "host-disk-accept",
        "host-disk-undo",
        "host-disk-test",
        "host-array-check",
        "host-fault-revoke",
        "host-loss-accept",
        "host-loss-revoke",
        "host-member",
        "host-window",
        "host-limits",
        "host-tag-limit",
        "host-allocation-preview",
        "volumes-bulk",
        "volumes-bulk-confirm",
        "volumes-bulk-commands",
        "volume-new",
        "volume-extend",
        "volume-move",
        "volume-tag",
        "volume-drift-accept",
        "volume-record",
        "volume-customer",
        "volume-watch",
        "volume-repair",
        "cache-drop",
        "volume-discard",
        "volume-retire",
        "volume-restore",
        "volume-destroy",
        "cache-form",
        "cache-remove",
        "cache-replace",
        "cache-flush",
        "job-cancel",
        "job-pace",
        "host-cache-window",
        "jobs-stop",
        "jobs-resume",
        "customer-new",
        "customer-edit",
        "adopt",
        "adopt-confirm",
        "adopt-undo",
        "volumes-bulk-result",
        "volumes-bulk-cancel",
        "customer-delete",
        "suggest",
        "view-save",
        "view-delete",
        "host-labels",
        "alert-route-test",
        "alert-message-again",
        "webhook-test",
        "webhook-message-again",
        "alert-acknowledge",
        "alert-unacknowledge",
        "silence-new",
        "silence-end",
        "adopt-tag",
        "billing-test",
        "billing-enable",
        "billing-again",
        "my-order-cancel",
        "my-heat",
        "volume-heat",
        "volume-trace-new",
        "volume-trace-cancel",
        "benchmark-new",
        "benchmark-import",
        "benchmark-pause",
        "benchmark-resume",
        "benchmark-cancel",
        "benchmark-unshare",
        "kiosk-link-revoke",
        "gate-new",
        "gate-plan",
        "gate-skip",
        "gate-accept",
        "gate-revoke",
        "gate-bisect",
    ),
    # The API
    **_each(
        Demand.TOKEN,
        "api-adoptions",
        "api-billing-enable",
        "api-benchmark",
        "api-benchmark-cancel",
        "api-benchmark-comparison",
        "api-benchmark-estimate",
        "api-benchmark-export",
        "api-benchmark-import",
        "api-benchmark-pause",
        "api-benchmark-resume",
        "api-benchmark-runs",
        "api-benchmark-share",
        "api-benchmark-verification",
        "api-benchmarks",
        "api-gate",
        "api-gate-acceptance",
        "api-gate-bisect",
        "api-gate-plan",
        "api-gate-skip",
        "api-gates",
        "api-bulk-change",
        "api-bulk-change-cancel",
        "api-bulk-changes",
        "api-customer-members",
        "api-customer-suspension",
        "api-halt",
        "api-host-accept",
        "api-host-advice",
        "api-host-allocation",
        "api-host-enrolment",
        "api-host-inventory",
        "api-host-maintenance",
        "api-host-missing",
        "api-host-missing-settle",
        "api-host-refresh",
        "api-invitation",
        "api-invitation-again",
        "api-invitations",
        "api-member",
        "api-message-again",
        "api-message-test",
        "api-messages",
        "api-people",
        "api-person",
        "api-person-password",
        "api-person-sessions",
        "api-service-accounts",
        "api-token",
        "api-token-end",
        "api-token-rotate",
        "api-tokens",
        "api-volume-adoption",
        "api-volume-cache-drop",
        "api-volume-drift",
        "api-volume-drift-accept",
        "api-volume-drift-repair",
        "api-volume-curve",
        "api-volume-trace",
        "api-volume-traces",
        "api-volume-outlook",
        "api-volume-slowness",
        "api-volume-watch",
        "api-tag-limit",
        "api-tag-limits",
        "api-root",
        "api-openapi",
        "api-openapi-yaml",
        "api-hosts",
        "api-host",
        "api-host-disks",
        "api-host-disk",
        "api-host-disk-tests",
        "api-host-arrays",
        "api-host-array-check",
        "api-host-checks",
        "api-host-events",
        "api-host-faults",
        "api-host-array-members",
        "api-host-fault-acceptance",
        "api-host-restart-comparison",
        "api-host-loss-acceptance",
        "api-host-ssds",
        "api-volumes",
        "api-volume",
        "api-volume-wish",
        "api-volume-series",
        "api-host-series",
        "api-fleet-series",
        "api-host-disk-users",
        "api-host-disk-writers",
        "api-job-comparison",
        "api-jobs",
        "api-job",
        "api-job-lines",
        "api-job-apply",
        "api-job-cancel",
        "api-job-pace",
        "api-job-window",
        "api-job-resume",
        "api-job-rollback",
        "api-job-resolve",
        "api-audit",
        "api-alerts",
        "api-alert",
        "api-alert-acknowledgement",
        "api-silences",
        "api-silence",
        "api-silence-end",
        "api-alert-routes",
        "api-alert-route",
        "api-alert-route-test",
        "api-alert-route-gaps",
        "api-alert-messages",
        "api-alert-message-again",
        "api-own-alert-routes",
        "api-own-alert-route",
        "api-customers",
        "api-customer",
        "api-mandate",
        "api-volume-orders",
        "api-orders",
        "api-events",
        "api-webhooks",
        "api-webhook",
        "api-webhook-secret",
        "api-webhook-test",
        "api-webhook-deliveries",
        "api-webhook-redeliver",
        "api-metrics",
        "api-order",
        "api-order-cancel",
        "api-order-revert",
        "api-order-proof",
        "api-proofs",
        "api-calibration",
        "api-cache-plans",
        "api-cache-plan",
        "api-billing-create-customer",
        "api-billing-set-mandate",
        "api-billing-suspend",
        "api-billing-unsuspend",
        "api-billing-login-link",
        "api-billing-bind-volume",
        "api-billing-terminate",
        "api-billing-change-plan",
        "api-billing-decide-order",
        "api-billing-usage-lines",
        "api-billing-status",
        "api-nothing",
        "api-nowhere",
    ),
}

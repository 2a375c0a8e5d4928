"""Who may do what: one line for each route and method. `test_permissions` fails where a route of
the panel is missing here, or where one is named that is gone.

A line is `Row(route name, method, outcome for each role, arguments, data sent)`. Arguments and
`{…}` in data name objects of `tests.panel.cast.Cast`; an argument is always Acme's object. What
may happen to a role, in the order of ROLES:

    in      the view did what it is for, even if that is a refusal of the input (409, 422)
    mine    sent to the pages of customers
    login   sent to the sign-in page
    401     the API does not know who asks
    403     known, but not allowed
    404     nothing there for these eyes
"""

from __future__ import annotations

from dataclasses import dataclass, field

ROLES = ("anonymous", "viewer", "owner", "other", "read_only", "operator", "admin")

# viewer and owner belong to Acme, other owns another customer, the last three are staff.
#            anonymous  viewer  owner  other  read_only  operator  admin
OPEN = "     in         in      in     in     in         in        in   "
PERSON = "   login      in      in     in     in         in        in   "
SEE = "      login      404     404    404    in         in        in   "
OPERATE = "  login      404     404    404    403        in        in   "
ADMINISTER = "login     404     404    404    403        403       in   "
SHARED = "   login      in      in     404    in         in        in   "
MEMBERS = "  login      in      in     in     404        404       404  "
OWN = "      login      in      in     404    404        404       404  "
API = "      401        in      in     in     in         in        in   "
API_OWN = "  401        in      in     404    in         in        in   "
API_SEE = "  401        404     404    404    in         in        in   "
API_WRITE = "401        403     403    403    403        in        in   "
API_STAFF = "401        404     404    404    403        in        in   "
API_ADMIN = "401        404     404    404    403        403       in   "
API_SELL = " 401        403     403    403    403        403       in   "
API_SIGNED = "401      401    401    401    401        401       401  "
API_ORDER = "401        403     in     404    403        403       403  "
OWNERS = "   login      404     in     404    404        404       404  "


@dataclass(frozen=True, slots=True)
class Row:
    """Routes of the API are asked with a bearer token of the role, for all it may have."""

    name: str
    method: str
    outcomes: str
    args: tuple[str, ...] = ()
    data: dict[str, str] = field(default_factory=dict)

    @property
    def is_api(self) -> bool:
        """Whether it is a route of the API."""
        return self.name.startswith("api-")


TABLE = (
    # The panel
    Row("home", "GET", "login mine mine mine in in in"),
    Row("overview", "GET", SEE),
    Row("health", "GET", OPEN),
    Row("search", "GET", PERSON),
    Row("search-found", "GET", PERSON),
    Row("running-jobs", "GET", SEE),
    Row("settings", "GET", ADMINISTER),
    Row("settings-mail", "POST", ADMINISTER),
    # Help
    Row("tour", "POST", "login mine mine mine in in in"),
    Row("help", "GET", PERSON),
    Row("glossary", "GET", PERSON),
    Row("help-document", "GET", SEE, ("document",)),
    # Links with a token in them, whoever opens them
    Row("enrol-script", "GET", OPEN, ("enrol_token",)),
    Row("enrol-script", "POST", OPEN, ("enrol_token",), {"host_key": "nonsense"}),
    Row("enrol-agent", "GET", OPEN, ("enrol_token",)),
    Row("invitation", "GET", OPEN, ("invitation_token",)),
    Row("invitation", "POST", OPEN, ("invitation_token",)),
    Row("forgotten", "GET", OPEN),
    # The panel of the tests sends no mail.
    Row("forgotten", "POST", "404 404 404 404 404 404 404"),
    Row("login-link", "GET", OPEN, ("login_token",)),
    # No token: with one, whoever presses the button is somebody else.
    Row("login-link", "POST", "404 404 404 404 404 404 404", ("volume",)),
    Row("notices-off", "GET", OPEN, ("notices_token",)),
    Row("notices-off", "POST", OPEN, ("notices_token",)),
    Row("language", "POST", OPEN, (), {"language": "de"}),
    # A fresh proof of who one is
    Row("step-up", "GET", PERSON),
    Row("step-up", "POST", PERSON),
    Row("reauthenticate", "GET", PERSON),
    Row("reauthenticate-factor", "GET", PERSON),
    Row("reauthenticate-key", "GET", PERSON),
    # What a person is told
    Row("notices", "GET", MEMBERS),
    Row("notices", "POST", MEMBERS),
    # Hosts and volumes
    Row("hosts", "GET", SEE),
    Row("host", "GET", SEE, ("host",)),
    Row("host-now", "GET", SEE, ("host",)),
    Row("host-advice", "GET", SEE, ("host",)),
    Row("host-advice-card", "GET", SEE, ("host",)),
    Row("host-volumes", "GET", SEE, ("host",)),
    Row("host-disks", "GET", SEE, ("host",)),
    Row("host-history", "GET", SEE, ("host",)),
    Row(
        "host-fault-accept",
        "POST",
        ADMINISTER,
        ("host",),
        {"reason": "Known", "confirm_code": "bcache_bvec_5_15", "fault": "bcache_bvec_5_15"},
    ),
    Row("host-fault-revoke", "POST", ADMINISTER, ("host",), {"fault": "bcache_bvec_5_15"}),
    Row("host-disk", "GET", SEE, ("host", "disk")),
    Row("host-disk-enter", "POST", ADMINISTER, ("host", "disk"), {"unit_bytes": "512"}),
    Row("host-disk-accept", "POST", ADMINISTER, ("host", "disk"), {"reason": "Known"}),
    Row("host-disk-test", "POST", OPERATE, ("host", "disk"), {"kind": "short"}),
    # No array has that name.
    Row("host-array-check", "POST", "login 404 404 404 403 404 404", ("host", "disk")),
    Row("host-disk-undo", "POST", ADMINISTER, ("host", "disk"), {"change": "1"}),
    Row("host-jobs", "GET", SEE, ("host",)),
    Row("host-settings", "GET", SEE, ("host",)),
    Row("host-new", "GET", ADMINISTER),
    Row("host-new", "POST", ADMINISTER, (), {"name": "web9", "address": "198.51.100.9"}),
    Row("host-enrol", "GET", ADMINISTER, ("host",)),
    Row("host-enrol", "POST", ADMINISTER, ("host",)),
    Row("host-labels", "GET", OPERATE, ("host",)),
    Row("host-labels", "POST", OPERATE, ("host",), {"site": "Hel", "tags": "nvme"}),
    Row("host-refresh", "POST", OPERATE, ("host",)),
    Row("host-ssd", "GET", ADMINISTER, ("host",)),
    Row("host-ssd", "POST", ADMINISTER, ("host",), {"device": "sde", "serial": "x", "vg": "vg0"}),
    Row("host-missing", "POST", OPERATE, ("host",)),
    Row("host-checks", "GET", SEE, ("host",)),
    Row("host-maintenance", "POST", ADMINISTER, ("host",)),
    Row("host-maintenance-end", "POST", ADMINISTER, ("host",)),
    Row("host-window", "POST", ADMINISTER, ("host",)),
    Row("host-writeback", "POST", ADMINISTER, ("host",), {"dirty_limit_percent": "50"}),
    Row("host-remove", "GET", ADMINISTER, ("host",)),
    Row("host-remove", "POST", ADMINISTER, ("host",)),
    Row("host-address", "POST", ADMINISTER, ("host",), {"address": "192.0.2.9", "port": "22"}),
    Row("host-accept", "POST", ADMINISTER, ("host",), {"fingerprint": "x"}),
    Row("volumes", "GET", SEE),
    Row("volume", "GET", SEE, ("volume",)),
    Row("volume-figures", "GET", SEE, ("volume",)),
    Row("volume-cache", "GET", SEE, ("volume",)),
    Row("volume-cache-state", "GET", SEE, ("volume",)),
    Row("volume-current-job", "GET", SEE, ("volume",)),
    Row("volume-comparison", "GET", SEE, ("volume",)),
    Row("volume-jobs", "GET", SEE, ("volume",)),
    Row("volumes-bulk", "POST", OPERATE, (), {"volume": "{volume}", "action": "manage"}),
    Row("volumes-bulk-confirm", "POST", OPERATE),
    Row("volumes-bulk-result", "GET", OPERATE, ("bulk",)),
    Row("volumes-bulk-cancel", "POST", OPERATE, ("bulk",)),
    Row("volumes-bulk-commands", "POST", OPERATE, ("volume",)),
    Row("volumes-bulk-answer", "GET", OPERATE, ("preview",)),
    Row("volume-new", "GET", OPERATE),
    Row("volume-new", "POST", OPERATE),
    Row("volume-extend", "GET", OPERATE, ("volume",)),
    Row("volume-extend", "POST", OPERATE, ("volume",), {"size": "9", "unit": "GiB"}),
    Row("volume-rename", "GET", OPERATE, ("volume",)),
    Row("volume-rename", "POST", OPERATE, ("volume",), {"label": "other"}),
    Row("volume-customer", "GET", OPERATE, ("volume",)),
    Row("volume-customer", "POST", OPERATE, ("volume",), {"customer": ""}),
    Row("volume-move", "POST", OPERATE, ("volume",), {"tier": "ssd"}),
    Row("volume-tag", "POST", OPERATE, ("volume",)),
    Row("volume-drift", "GET", SEE, ("volume",)),
    Row("volume-drift-accept", "POST", OPERATE, ("volume",)),
    Row("volume-repair", "POST", OPERATE, ("volume",)),
    Row("volume-loss", "GET", SEE, ("volume",)),
    Row("cache-drop", "POST", OPERATE, ("volume",)),
    Row("volume-discard", "POST", OPERATE, ("volume",)),
    Row("volume-retire", "POST", OPERATE, ("volume",)),
    Row("volume-restore", "POST", OPERATE, ("volume",)),
    Row("volume-destroy", "GET", ADMINISTER, ("volume",)),
    Row("volume-destroy", "POST", ADMINISTER, ("volume",), {"confirm_label": "x"}),
    Row("cache-form", "GET", OPERATE, ("volume",)),
    Row("cache-form", "POST", OPERATE, ("volume",), {"mode": "writethrough"}),
    Row("cache-remove", "POST", OPERATE, ("volume",)),
    Row("cache-replace", "GET", OPERATE, ("volume",)),
    Row("cache-replace", "POST", OPERATE, ("volume",), {"mode": "writethrough"}),
    Row("cache-flush", "POST", OPERATE, ("volume",)),
    # Views of lists, and names while one types
    Row("suggest", "GET", SEE, ("kind",)),
    Row("view-save", "POST", SEE, ("list_name",), {"name": "Mine"}),
    Row("view-delete", "POST", "login 404 404 404 404 404 in", ("view",)),
    # Jobs
    Row("jobs", "GET", SEE),
    Row("job", "GET", SEE, ("job",)),
    Row("job-status", "GET", SEE, ("job",)),
    Row("job-lines", "GET", SEE, ("job",)),
    Row("job-log", "GET", SEE, ("job",)),
    Row("job-cancel", "POST", OPERATE, ("job",)),
    Row("job-pace", "POST", OPERATE, ("job",)),
    Row("job-resume", "POST", OPERATE, ("job",)),
    Row("job-rollback", "POST", OPERATE, ("job",)),
    Row("job-resolve", "POST", OPERATE, ("job",)),
    Row("jobs-stop", "POST", ADMINISTER),
    Row("jobs-resume", "POST", ADMINISTER),
    Row("preview-apply", "POST", OPERATE, ("preview",)),
    # Alerts
    Row("alerts", "GET", SEE),
    Row("alert", "GET", SEE, ("alert",)),
    Row("alert-acknowledge", "POST", OPERATE, ("alert",), {"reason": "Known."}),
    Row("alert-unacknowledge", "POST", OPERATE, ("alert",)),
    Row("silences", "GET", SEE),
    Row("silence-new", "GET", OPERATE),
    Row("silence-new", "POST", OPERATE, (), {"code": "drift", "reason": "Known.", "hours": "1"}),
    Row("silence-end", "POST", OPERATE, ("silence",)),
    Row("alert-routes", "GET", ADMINISTER),
    Row("alert-route-new", "GET", ADMINISTER),
    Row("alert-route-new", "POST", ADMINISTER, (), {"name": "On call", "kind": "slack"}),
    Row("alert-routes-nobody", "POST", ADMINISTER),
    Row("alert-route", "GET", ADMINISTER, ("alert_route",)),
    Row("alert-route", "POST", ADMINISTER, ("alert_route",)),
    Row("alert-route-test", "POST", ADMINISTER, ("alert_route",)),
    Row("alert-route-delete", "POST", ADMINISTER, ("alert_route",)),
    Row("alert-message-again", "POST", ADMINISTER, ("alert_message",)),
    # The audit trail
    Row("trail", "GET", SEE),
    Row("audit", "GET", SEE),
    Row("audit-export", "GET", SEE),
    Row("security-log", "GET", ADMINISTER),
    # People and customers
    Row("people", "GET", ADMINISTER),
    Row("people", "POST", ADMINISTER),
    Row("person", "GET", ADMINISTER, ("person",)),
    Row("person-role", "POST", ADMINISTER, ("person",)),
    Row("person-deactivate", "POST", ADMINISTER, ("person",)),
    Row("person-reactivate", "POST", ADMINISTER, ("person",)),
    Row("person-signout", "POST", ADMINISTER, ("person",)),
    Row("person-password", "POST", ADMINISTER, ("person",)),
    Row("person-customers", "POST", ADMINISTER, ("person",)),
    Row("member", "POST", ADMINISTER, ("member",), {"role": "owner"}),
    Row("invitation-change", "POST", ADMINISTER, ("invitation",), {"revoke": "1"}),
    Row("customers", "GET", SEE),
    Row("customer", "GET", SEE, ("customer",)),
    Row("customer-new", "GET", OPERATE),
    Row("customer-new", "POST", OPERATE, (), {"name": "New"}),
    Row("customer-edit", "GET", OPERATE, ("customer",)),
    Row("customer-edit", "POST", OPERATE, ("customer",), {"name": "Renamed"}),
    Row("customer-delete", "POST", OPERATE, ("customer",)),
    Row("customer-mandate", "GET", OPERATE, ("customer",)),
    Row("customer-mandate", "POST", OPERATE, ("customer",), {"currency": "EUR"}),
    Row("customer-suspend", "POST", OPERATE, ("customer",)),
    Row("customer-unsuspend", "POST", OPERATE, ("customer",)),
    # Adoption
    Row("adopt", "GET", OPERATE),
    Row("adopt", "POST", OPERATE, (), {"way": "pattern", "pattern": "*"}),
    Row("adopt-confirm", "POST", OPERATE),
    Row("adopt-undo", "POST", OPERATE, (), {"volume": "{volume}"}),
    Row("adopt-tag", "POST", OPERATE),
    # Charts, for whoever may see the volume
    Row("volume-series", "GET", SHARED, ("volume",)),
    Row("volume-csv", "GET", SHARED, ("volume",)),
    Row("volume-marks", "GET", SHARED, ("volume",)),
    Row("host-series", "GET", SEE, ("host",)),
    Row("host-csv", "GET", SEE, ("host",)),
    Row("host-marks", "GET", SEE, ("host",)),
    Row("fleet-series", "GET", SEE),
    Row("fleet-csv", "GET", SEE),
    # Cache plans
    Row("cache-plans", "GET", SEE),
    Row("revenue", "GET", ADMINISTER),
    Row("revenue-csv", "GET", ADMINISTER),
    Row("capacity", "GET", SEE),
    Row("ledger", "GET", SEE),
    Row("ledger-csv", "GET", SEE),
    Row("report", "GET", SEE, ("order",)),
    Row("cache-plan-new", "GET", ADMINISTER),
    Row("cache-plan-new", "POST", ADMINISTER),
    Row("cache-plan", "GET", ADMINISTER, ("plan",)),
    Row("cache-plan", "POST", ADMINISTER, ("plan",)),
    Row("cache-plan-offer", "POST", ADMINISTER, ("plan",)),
    Row("cache-plan-delete", "POST", ADMINISTER, ("plan",)),
    # One's own sessions and API tokens
    Row("own-alerts", "GET", SEE),
    Row("own-alerts-change", "POST", "login 404 404 404 404 404 in", ("alert_route",)),
    Row("sessions", "GET", PERSON),
    Row("sessions-end", "POST", PERSON),
    Row("session-end", "POST", OWNERS, ("session",)),
    Row("tokens", "GET", PERSON),
    Row("tokens", "POST", PERSON),
    Row("token-revoke", "GET", OWNERS, ("token",)),
    Row("token-revoke", "POST", OWNERS, ("token",)),
    # The pages of customers
    Row("my-volumes", "GET", MEMBERS),
    Row("my-volume", "GET", OWN, ("volume",)),
    Row("my-glance", "GET", OWN, ("volume",)),
    Row("my-running", "GET", OWN, ("volume",)),
    Row("my-charts", "GET", OWN, ("volume",)),
    Row("my-figures", "GET", OWN, ("volume",)),
    Row("my-plan", "GET", OWN, ("volume",)),
    Row("my-plan-confirm", "GET", OWN, ("volume", "plan")),
    # A viewer is answered with the reason why not: see test_a_viewer_orders_nothing.
    Row("my-plan-confirm", "POST", OWN, ("volume", "plan")),
    Row("my-order", "GET", OWN, ("order",)),
    Row("my-order-status", "GET", OWN, ("order",)),
    Row("my-order-cancel", "POST", OWN, ("order",)),
    Row("my-report", "GET", OWN, ("order",)),
    Row("my-order-revert", "GET", OWN, ("order",)),
    Row("my-order-revert", "POST", OWN, ("order",)),
    Row("my-change", "GET", OWN, ("job",)),
    Row("my-change-status", "GET", OWN, ("job",)),
    # The billing hook
    Row("billing", "GET", ADMINISTER),
    Row("billing-test", "POST", ADMINISTER),
    Row("billing-enable", "POST", ADMINISTER),
    # No message has that name.
    Row("billing-again", "POST", "login 404 404 404 403 403 404", ("volume",)),
    # The API
    Row("api-root", "GET", API),
    Row("api-openapi", "GET", OPEN),
    Row("api-openapi-yaml", "GET", OPEN),
    Row("api-hosts", "GET", API_SEE),
    Row("api-host", "GET", API_SEE, ("host",)),
    Row("api-host", "PATCH", "401 404 404 404 403 in in", ("host",), {"site": "Hel"}),
    Row("api-host", "DELETE", "401 404 404 404 403 403 in", ("host",)),
    Row(
        "api-host-ssds",
        "POST",
        "401 404 404 404 403 403 in",
        ("host",),
        {"device": "sde", "serial": "x", "vg": "vg0"},
    ),
    Row("api-host-disks", "GET", API_SEE, ("host",)),
    Row("api-host-disk", "GET", API_SEE, ("host", "disk")),
    Row("api-host-disk", "PATCH", "401 404 404 404 403 403 in", ("host", "disk")),
    Row(
        "api-host-disk-tests",
        "POST",
        "401 404 404 404 403 in in",
        ("host", "disk"),
        {"kind": "short"},
    ),
    Row("api-host-arrays", "GET", API_SEE, ("host",)),
    Row("api-host-events", "GET", API_SEE, ("host",)),
    Row("api-host-faults", "GET", API_SEE, ("host",)),
    Row(
        "api-host-fault-acceptance",
        "PUT",
        "401 404 404 404 403 403 in",
        ("host", "fault"),
        {"reason": "Known", "confirm_code": "bcache_bvec_5_15"},
    ),
    Row("api-host-fault-acceptance", "DELETE", "401 404 404 404 403 403 in", ("host", "fault")),
    Row("api-host-checks", "GET", API_SEE, ("host",)),
    # No array has that name.
    Row("api-host-array-check", "POST", "401 404 404 404 403 404 404", ("host", "disk")),
    Row("api-volumes", "GET", API),
    Row("api-volumes", "POST", API_WRITE),
    Row("api-volume", "GET", API_OWN, ("volume",)),
    Row("api-volume", "PATCH", API_WRITE, ("volume",), {"label": "Renamed"}),
    Row("api-volume", "DELETE", API_WRITE, ("volume",)),
    Row("api-volume-wish", "GET", API_OWN, ("volume",)),
    Row("api-volume-wish", "PUT", API_WRITE, ("volume",)),
    Row("api-volume-series", "GET", API_OWN, ("volume",)),
    Row("api-jobs", "GET", API),
    Row("api-job", "GET", API_OWN, ("job",)),
    Row("api-job-lines", "GET", API_SEE, ("job",)),
    Row("api-job-apply", "POST", API_WRITE, ("preview",)),
    Row("api-job-cancel", "POST", API_WRITE, ("job",)),
    Row("api-job-pace", "POST", API_WRITE, ("job",)),
    Row("api-job-resume", "POST", API_WRITE, ("job",)),
    Row("api-job-rollback", "POST", API_WRITE, ("job",)),
    Row("api-job-resolve", "POST", API_WRITE, ("job",)),
    Row("api-audit", "GET", API_SEE),
    Row("api-alerts", "GET", API_SEE),
    Row("api-alert", "GET", API_SEE, ("alert",)),
    Row("api-alert-acknowledgement", "PUT", API_STAFF, ("alert",), {"reason": "Mine."}),
    Row("api-alert-acknowledgement", "DELETE", API_STAFF, ("alert",)),
    Row("api-silences", "GET", API_SEE),
    Row("api-silences", "POST", API_STAFF, (), {"code": "drift", "reason": "Known."}),
    Row("api-silence", "GET", API_SEE, ("silence",)),
    Row("api-silence", "DELETE", API_STAFF, ("silence",)),
    Row("api-alert-routes", "GET", API_ADMIN),
    Row("api-alert-routes", "POST", API_ADMIN, (), {"name": "On call", "kind": "slack"}),
    Row("api-alert-route-gaps", "GET", API_ADMIN),
    Row("api-alert-route", "GET", API_ADMIN, ("alert_route",)),
    Row("api-alert-route", "PUT", API_ADMIN, ("alert_route",)),
    Row("api-alert-route", "DELETE", API_ADMIN, ("alert_route",)),
    Row("api-alert-route-test", "POST", API_ADMIN, ("alert_route",)),
    Row("api-customers", "GET", API),
    Row("api-customers", "POST", API_WRITE, (), {"name": "New"}),
    Row("api-customer", "GET", API_OWN, ("customer",)),
    Row("api-customer", "PATCH", API_WRITE, ("customer",), {"name": "Renamed"}),
    Row("api-customer", "DELETE", API_WRITE, ("customer",)),
    Row("api-mandate", "GET", API_OWN, ("customer",)),
    Row(
        "api-mandate",
        "PUT",
        API_WRITE,
        ("customer",),
        {"currency": "EUR", "cap_charge_minor": "1"},
    ),
    Row("api-volume-orders", "POST", API_ORDER, ("volume",)),
    Row("api-orders", "GET", API),
    Row("api-order", "GET", API_OWN, ("order",)),
    Row("api-order-cancel", "POST", API_ORDER, ("order",)),
    Row("api-order-revert", "POST", API_ORDER, ("order",)),
    Row("api-order-proof", "GET", API_OWN, ("order",)),
    Row("api-proofs", "GET", API),
    Row("api-cache-plans", "GET", API),
    Row("api-cache-plans", "POST", API_SELL),
    Row("api-cache-plan", "GET", API, ("plan",)),
    Row("api-cache-plan", "PATCH", API_SELL, ("plan",), {"name": "Faster"}),
    Row("api-cache-plan", "DELETE", API_SELL, ("plan",)),
    # Calls that the billing system signs: nobody else makes them
    Row("api-billing-create-customer", "POST", API_SIGNED),
    Row("api-billing-set-mandate", "POST", API_SIGNED),
    Row("api-billing-suspend", "POST", API_SIGNED),
    Row("api-billing-unsuspend", "POST", API_SIGNED),
    Row("api-billing-login-link", "POST", API_SIGNED),
    Row("api-billing-bind-volume", "POST", API_SIGNED),
    Row("api-billing-terminate", "POST", API_SIGNED),
    Row("api-billing-change-plan", "POST", API_SIGNED),
    Row("api-billing-decide-order", "POST", API_SIGNED),
    Row("api-billing-usage-lines", "POST", API_SIGNED),
    Row("api-billing-status", "POST", API_SIGNED),
    Row("api-nowhere", "GET", "401 404 404 404 404 404 404"),
    Row("api-nothing", "GET", "401 404 404 404 404 404 404", ("nowhere",)),
)

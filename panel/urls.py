"""Every URL of the panel."""

from __future__ import annotations

from django.urls import include, path, re_path

from panel.accounts import (
    help_pages,
    invitation_pages,
    mail_preferences,
    name_search,
    own_account_pages,
)
from panel.accounts.authentication import login_links, step_up
from panel.api import root_endpoint
from panel.api.exposition import metrics_endpoint
from panel.api.hosts import enrolment_endpoints
from panel.help import tour
from panel.languages import choice
from panel.operations import doctor
from panel.portal import report
from panel.staff import audit_pages, settings_pages
from panel.staff.alerts import route_pages
from panel.staff.customers import (
    calibration_pages,
    capacity_pages,
    delivery_pages,
    ledger_pages,
    plan_pages,
    revenue_pages,
)
from panel.staff.dashboard import overview as dashboard_pages
from panel.staff.jobs import running_menu

handler500 = "panel.http.middleware.broken"

urlpatterns = [
    path("", dashboard_pages.home, name="home"),
    path("overview", dashboard_pages.fleet_fragment, name="overview"),
    path("health", doctor.health, name="health"),
    path("health/work", doctor.work_health, name="health-work"),
    path("metrics", metrics_endpoint.Metrics.as_view(), name="api-metrics"),
    path("search", name_search.search, name="search"),
    path("search/found", name_search.found, name="search-found"),
    path("running", running_menu.running, name="running-jobs"),
    # Before allauth's own page of sessions, which has no way to end one of them.
    path("account/sessions/", own_account_pages.session_list, name="sessions"),
    path("account/sessions/end", own_account_pages.sessions_end, name="sessions-end"),
    path("account/sessions/<int:pk>/end", own_account_pages.session_end, name="session-end"),
    path("account/step-up/", step_up.step_up, name="step-up"),
    # Before allauth's own, which accept the password of a person with a second factor.
    path("account/reauthenticate/", step_up.instead, name="reauthenticate"),
    path("account/2fa/reauthenticate/", step_up.instead, name="reauthenticate-factor"),
    path("account/2fa/webauthn/reauthenticate/", step_up.instead, name="reauthenticate-key"),
    # Before allauth's own, which makes a link also where nothing can be mailed.
    path("account/password/reset/", invitation_pages.forgotten, name="forgotten"),
    path("account/alerts/", route_pages.own_routes, name="own-alerts"),
    path("account/alerts/<str:key>", route_pages.change_own_route, name="own-alerts-change"),
    path("account/language/", choice.choose, name="language"),
    path("account/notices/", mail_preferences.notices, name="notices"),
    path("account/", include("allauth.urls")),
    path("notices/off/<str:token>", mail_preferences.notices_off, name="notices-off"),
    path("enter/<str:token>", login_links.login_link, name="login-link"),
    path("enrol/<str:token>", enrolment_endpoints.enrol, name="enrol-script"),
    path("enrol/<str:token>/agent.pyz", enrolment_endpoints.agent, name="enrol-agent"),
    path("my/", include("panel.portal.urls")),
    path("revenue/", revenue_pages.revenue_page, name="revenue"),
    path("revenue/csv", revenue_pages.revenue_csv, name="revenue-csv"),
    path("capacity/", capacity_pages.capacity, name="capacity"),
    path("capacity/ssd-price", capacity_pages.ssd_price, name="ssd-price"),
    path("ledger/", ledger_pages.ledger, name="ledger"),
    path("ledger/csv", ledger_pages.ledger_csv, name="ledger-csv"),
    path("ledger/forecasts/", calibration_pages.calibration, name="calibration"),
    path("ledger/<str:key>/", report.report, name="report"),
    path("billing/", delivery_pages.deliveries, name="billing"),
    path("billing/test", delivery_pages.deliver_test, name="billing-test"),
    path("billing/enable", delivery_pages.enable, name="billing-enable"),
    path("billing/<str:name>/again", delivery_pages.deliver_again, name="billing-again"),
    path("plans/", plan_pages.plans, name="cache-plans"),
    path("plans/new", plan_pages.new_plan, name="cache-plan-new"),
    path("plans/<str:key>/", plan_pages.plan, name="cache-plan"),
    path("plans/<str:key>/offer", plan_pages.offer_plan, name="cache-plan-offer"),
    path("plans/<str:key>/delete", plan_pages.delete_plan, name="cache-plan-delete"),
    path("", include("panel.accounts.urls")),
    path("api/v1/", include("panel.billing.signed_calls")),
    path("api/v1/", include("panel.api.urls")),
    re_path("^api(?:/.*)?$", root_endpoint.Nothing.as_view(), name="api-nowhere"),
    path("audit/security", audit_pages.security_log, name="security-log"),
    path("settings/", settings_pages.settings_page, name="settings"),
    path("settings/mail", settings_pages.test_mail, name="settings-mail"),
    path("tour/", tour.tour, name="tour"),
    path("help/", help_pages.help_home, name="help"),
    path("help/glossary/", help_pages.glossary_page, name="glossary"),
    path("help/<str:name>/", help_pages.help_document, name="help-document"),
    path("tokens/", own_account_pages.token_list, name="tokens"),
    path("tokens/<str:key>/revoke", own_account_pages.token_revoke, name="token-revoke"),
    path("", include("panel.staff.urls")),
]

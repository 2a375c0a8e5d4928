"""Every URL of the panel."""

from __future__ import annotations

from django.urls import include, path

from panel import (
    cacheplans,
    entrance,
    loginlink_pages,
    running,
    search_views,
    session_pages,
    stepup_pages,
    token_pages,
    views,
)
from panel.notices import pages as notice_pages
from panel.watch import pages as watch_pages

handler500 = "panel.outage.broken"

urlpatterns = [
    path("", views.home, name="home"),
    path("overview", views.fleet, name="overview"),
    path("health", views.health, name="health"),
    path("search", search_views.search, name="search"),
    path("search/found", search_views.found, name="search-found"),
    path("running", running.running, name="running-jobs"),
    # Before allauth's own page of sessions, which has no way to end one of them.
    path("account/sessions/", session_pages.session_list, name="sessions"),
    path("account/sessions/end", session_pages.sessions_end, name="sessions-end"),
    path("account/sessions/<int:pk>/end", session_pages.session_end, name="session-end"),
    path("account/step-up/", stepup_pages.step_up, name="step-up"),
    # Before allauth's own, which take the password of whoever has a second factor.
    path("account/reauthenticate/", stepup_pages.instead, name="reauthenticate"),
    path("account/2fa/reauthenticate/", stepup_pages.instead, name="reauthenticate-factor"),
    path("account/2fa/webauthn/reauthenticate/", stepup_pages.instead, name="reauthenticate-key"),
    # Before allauth's own, which makes a link also where nothing can be mailed.
    path("account/password/reset/", entrance.forgotten, name="forgotten"),
    path("account/notices/", notice_pages.notices, name="notices"),
    path("account/", include("allauth.urls")),
    path("notices/off/<str:token>", notice_pages.notices_off, name="notices-off"),
    path("enter/<str:token>", loginlink_pages.login_link, name="login-link"),
    path("enrol/", include("jobs.enrol_urls")),
    path("my/", include("panel.portal.urls")),
    path("", include("panel.proof.urls")),
    path("", include("panel.billing.urls")),
    path("plans/", cacheplans.plans, name="cache-plans"),
    path("plans/new", cacheplans.new_plan, name="cache-plan-new"),
    path("plans/<str:key>/", cacheplans.plan, name="cache-plan"),
    path("plans/<str:key>/offer", cacheplans.offer_plan, name="cache-plan-offer"),
    path("plans/<str:key>/delete", cacheplans.delete_plan, name="cache-plan-delete"),
    path("", include("panel.people_urls")),
    path("api/v1/", include("panel.api.urls")),
    path("audit/security", watch_pages.security_log, name="security-log"),
    path("tokens/", token_pages.token_list, name="tokens"),
    path("tokens/<str:key>/revoke", token_pages.token_revoke, name="token-revoke"),
    path("", include("jobs.urls")),
    path("", include("storage.urls")),
]

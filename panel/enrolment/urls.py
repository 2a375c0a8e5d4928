"""URLs below /enrol/, for hosts."""

from __future__ import annotations

from django.urls import path

from panel.enrolment import endpoints as enrolment_endpoints

urlpatterns = [
    path("<str:token>", enrolment_endpoints.enrol, name="enrol-script"),
    path("<str:token>/agent.pyz", enrolment_endpoints.agent, name="enrol-agent"),
]

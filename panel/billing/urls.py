"""Pages of the billing hook."""

from __future__ import annotations

from django.urls import path

from panel.billing import pages

urlpatterns = [
    path("billing/", pages.deliveries, name="billing"),
    path("billing/test", pages.deliver_test, name="billing-test"),
    path("billing/enable", pages.enable, name="billing-enable"),
    path("billing/<str:name>/again", pages.deliver_again, name="billing-again"),
]

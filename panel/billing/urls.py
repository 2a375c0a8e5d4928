"""Pages of the billing hook."""

from __future__ import annotations

from django.urls import path

from panel.staff.customers import delivery_pages

urlpatterns = [
    path("billing/", delivery_pages.deliveries, name="billing"),
    path("billing/test", delivery_pages.deliver_test, name="billing-test"),
    path("billing/enable", delivery_pages.enable, name="billing-enable"),
    path("billing/<str:name>/again", delivery_pages.deliver_again, name="billing-again"),
]

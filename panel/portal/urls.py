"""The customers' pages."""

from __future__ import annotations

from django.urls import path

from panel.portal import order_pages, ordering, report, slowness_page
from panel.portal import volume_pages as portal_volume_pages

urlpatterns = [
    path("", portal_volume_pages.volumes, name="my-volumes"),
    path("volumes/<str:key>/", portal_volume_pages.member_volume, name="my-volume"),
    path("volumes/<str:key>/glance", portal_volume_pages.volume_glance, name="my-glance"),
    path("volumes/<str:key>/running", portal_volume_pages.volume_running, name="my-running"),
    path("volumes/<str:key>/heat", portal_volume_pages.count_heat, name="my-heat"),
    path("volumes/<str:key>/charts", portal_volume_pages.charts, name="my-charts"),
    path("volumes/<str:key>/slowness", slowness_page.member_slowness, name="my-slowness"),
    path("volumes/<str:key>/figures", portal_volume_pages.member_figures, name="my-figures"),
    path("volumes/<str:key>/plan", ordering.plans, name="my-plan"),
    path("volumes/<str:key>/plan/<str:choice>", ordering.confirm_choice, name="my-plan-confirm"),
    path("orders/<str:key>/", order_pages.order, name="my-order"),
    path("orders/<str:key>/status", order_pages.order_status, name="my-order-status"),
    path("orders/<str:key>/cancel", order_pages.order_cancel, name="my-order-cancel"),
    path("orders/<str:key>/revert", order_pages.order_revert, name="my-order-revert"),
    path("orders/<str:key>/report", report.my_report, name="my-report"),
    path("changes/<str:key>/", portal_volume_pages.plan_change, name="my-change"),
    path("changes/<str:key>/status", portal_volume_pages.change_status, name="my-change-status"),
]

"""The customers' pages."""

from __future__ import annotations

from django.urls import path

from panel.portal import ordering, orders, views

urlpatterns = [
    path("", views.volumes, name="my-volumes"),
    path("volumes/<str:key>/", views.volume, name="my-volume"),
    path("volumes/<str:key>/glance", views.volume_glance, name="my-glance"),
    path("volumes/<str:key>/running", views.volume_running, name="my-running"),
    path("volumes/<str:key>/charts", views.charts, name="my-charts"),
    path("volumes/<str:key>/figures", views.figures, name="my-figures"),
    path("volumes/<str:key>/plan", ordering.plans, name="my-plan"),
    path("volumes/<str:key>/plan/<str:choice>", ordering.confirm, name="my-plan-confirm"),
    path("orders/<str:key>/", orders.order, name="my-order"),
    path("orders/<str:key>/status", orders.order_status, name="my-order-status"),
    path("orders/<str:key>/cancel", orders.order_cancel, name="my-order-cancel"),
    path("orders/<str:key>/revert", orders.order_revert, name="my-order-revert"),
    path("changes/<str:key>/", views.change, name="my-change"),
    path("changes/<str:key>/status", views.change_status, name="my-change-status"),
]

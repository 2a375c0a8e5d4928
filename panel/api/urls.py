"""Routes of `/api/v1/`."""

from __future__ import annotations

from django.urls import path

from panel.api import hosts, root, ssds
from panel.api.customers import cacheplans, customers, mandates, orders, proofs
from panel.api.jobs import audit, decisions, jobs, previews
from panel.api.volumes import series, volumes, wish_endpoint
from panel.billing import endpoint as billing_endpoint

urlpatterns = [
    path("", root.Root.as_view(), name="api-root"),
    path("openapi.json", root.OpenApiJson.as_view(), name="api-openapi"),
    path("openapi.yaml", root.OpenApiYaml.as_view(), name="api-openapi-yaml"),
    path("hosts/", hosts.Hosts.as_view(), name="api-hosts"),
    path("hosts/<str:key>", hosts.OneHost.as_view(), name="api-host"),
    path("hosts/<str:key>/ssds", ssds.HostSsds.as_view(), name="api-host-ssds"),
    path("volumes/", volumes.Volumes.as_view(), name="api-volumes"),
    path("volumes/<str:key>", volumes.OneVolume.as_view(), name="api-volume"),
    path("volumes/<str:key>/wish", wish_endpoint.VolumeWish.as_view(), name="api-volume-wish"),
    path("volumes/<str:key>/series", series.VolumeSeries.as_view(), name="api-volume-series"),
    path("jobs/", jobs.Jobs.as_view(), name="api-jobs"),
    path("jobs/<str:key>", jobs.OneJob.as_view(), name="api-job"),
    path("jobs/<str:key>/lines", jobs.JobLines.as_view(), name="api-job-lines"),
    path("jobs/<str:key>/apply", previews.PreviewApply.as_view(), name="api-job-apply"),
    path("jobs/<str:key>/cancel", jobs.JobCancel.as_view(), name="api-job-cancel"),
    path("jobs/<str:key>/pace", jobs.JobPace.as_view(), name="api-job-pace"),
    path("jobs/<str:key>/resume", decisions.JobResume.as_view(), name="api-job-resume"),
    path("jobs/<str:key>/rollback", decisions.JobRollback.as_view(), name="api-job-rollback"),
    path("jobs/<str:key>/resolve", decisions.JobResolve.as_view(), name="api-job-resolve"),
    path("audit/", audit.Audit.as_view(), name="api-audit"),
    path("customers/", customers.Customers.as_view(), name="api-customers"),
    path("customers/<str:key>", customers.OneCustomer.as_view(), name="api-customer"),
    path("customers/<str:key>/mandate", mandates.CustomerMandate.as_view(), name="api-mandate"),
    path("volumes/<str:key>/orders", orders.VolumeOrders.as_view(), name="api-volume-orders"),
    path("orders/", orders.Orders.as_view(), name="api-orders"),
    path("orders/<str:key>", orders.OneOrder.as_view(), name="api-order"),
    path("orders/<str:key>/cancel", orders.OrderCancel.as_view(), name="api-order-cancel"),
    path("orders/<str:key>/revert", orders.OrderRevert.as_view(), name="api-order-revert"),
    path("orders/<str:key>/proof", proofs.OrderProof.as_view(), name="api-order-proof"),
    path("proofs/", proofs.Proofs.as_view(), name="api-proofs"),
    path("cache-plans/", cacheplans.CachePlans.as_view(), name="api-cache-plans"),
    path("cache-plans/<str:key>", cacheplans.OneCachePlan.as_view(), name="api-cache-plan"),
    *billing_endpoint.urlpatterns,
    path("<path:path>", root.Nothing.as_view(), name="api-nothing"),
]

"""The panel's Celery tasks. Messages are hints: each task does what the database says is due."""

from __future__ import annotations

from celery import shared_task

from panel.accounts import sessions, token_expiry
from panel.billing import call_log, outbox, usage_lines
from panel.billing import message_delivery as billing_delivery
from panel.deliveries.alerts import alert_routing, sign_of_life
from panel.deliveries.alerts.alert_delivery import ALERT_MESSAGES
from panel.deliveries.delivery_loop import deliver_due
from panel.deliveries.notices import alert_notices, notice_delivery
from panel.deliveries.notices.notice_delivery import NOTICE_MAILS
from panel.deliveries.webhooks import webhook_fanout
from panel.deliveries.webhooks.webhook_sending import WEBHOOK_MESSAGES
from panel.orders import due_orders
from panel.proofs import calibration, measure
from storage import event_list
from storage.database_clock import database_now


@shared_task
def sweep_orders() -> None:
    due_orders.sweep_orders()


@shared_task
def sweep_proofs() -> None:
    measure.sweep_proofs()


@shared_task
def judge_forecasts() -> None:
    calibration.judge_forecasts(database_now())


@shared_task
def send_messages() -> None:
    billing_delivery.send_due_messages()


@shared_task
def write_usage() -> None:
    usage_lines.write_months(database_now())


@shared_task
def prune_messages() -> None:
    now = database_now()
    outbox.prune_billing_messages(now)
    call_log.prune_calls(now)
    notice_delivery.prune_notices(now)
    alert_routing.prune_alert_messages(now)
    webhook_fanout.prune_webhook_messages(now)
    event_list.prune_events(now)


@shared_task
def warn_of_expiring_tokens() -> None:
    token_expiry.warn()


@shared_task
def prune_sessions() -> None:
    sessions.prune_sessions()


@shared_task
def send_notices() -> None:
    alert_notices.notify_customers()
    deliver_due(NOTICE_MAILS)


@shared_task
def send_alerts() -> None:
    alert_routing.route_events()
    alert_routing.write_digests()
    deliver_due(ALERT_MESSAGES)


@shared_task
def send_webhooks() -> None:
    webhook_fanout.fan_out()
    deliver_due(WEBHOOK_MESSAGES)


@shared_task
def send_sign_of_life() -> None:
    sign_of_life.send_sign()

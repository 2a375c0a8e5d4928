"""Records of people, API tokens, links to screens, answered requests, orders, proofs, billing,
notices, and recipients of alerts."""

from panel.models.alert_route import AlertDelivery, AlertRoute, RouteKind
from panel.models.api_token import ApiToken, IdempotentRequest, Scope
from panel.models.billing import (
    BillingCall,
    Endpoint,
    LineKind,
    Mandate,
    Message,
    MessageType,
    UsageLine,
)
from panel.models.kiosk import KioskLink
from panel.models.notice import Mute, Notice, NoticeKind
from panel.models.order import Intent, Order, OrderState
from panel.models.proof import Proof, ProofState
from panel.models.sales import SoldOutView, SsdPrice
from panel.models.saved_view import SavedView
from panel.models.security import SecurityEntry, SecurityKind
from panel.models.user import Invitation, LoginLink, StepUpCode, User
from panel.models.webhook import Webhook, WebhookDelivery

__all__ = [
    "AlertDelivery",
    "AlertRoute",
    "ApiToken",
    "BillingCall",
    "Endpoint",
    "IdempotentRequest",
    "Intent",
    "Invitation",
    "KioskLink",
    "LineKind",
    "LoginLink",
    "Mandate",
    "Message",
    "MessageType",
    "Mute",
    "Notice",
    "NoticeKind",
    "Order",
    "OrderState",
    "Proof",
    "ProofState",
    "RouteKind",
    "SavedView",
    "Scope",
    "SecurityEntry",
    "SecurityKind",
    "SoldOutView",
    "SsdPrice",
    "StepUpCode",
    "UsageLine",
    "User",
    "Webhook",
    "WebhookDelivery",
]

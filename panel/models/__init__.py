"""People, their API tokens, what was answered to requests that may come twice, and orders."""

from panel.models.billing import (
    BillingCall,
    Endpoint,
    LineKind,
    Message,
    MessageType,
    UsageLine,
)
from panel.models.idempotency import IdempotentRequest
from panel.models.invitation import Invitation
from panel.models.loginlink import LoginLink
from panel.models.mandate import Mandate
from panel.models.notice import Mute, Notice, NoticeKind
from panel.models.order import Intent, Order, OrderState
from panel.models.proof import Proof, ProofState
from panel.models.security import SecurityEntry, SecurityKind
from panel.models.stepup import StepUpCode
from panel.models.token import ApiToken, Scope
from panel.models.user import User

__all__ = [
    "ApiToken",
    "BillingCall",
    "Endpoint",
    "IdempotentRequest",
    "Intent",
    "Invitation",
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
    "Scope",
    "SecurityEntry",
    "SecurityKind",
    "StepUpCode",
    "UsageLine",
    "User",
]

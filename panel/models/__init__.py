"""People, their API tokens, and what was answered to requests that may come twice."""

from panel.models.idempotency import IdempotentRequest
from panel.models.invitation import Invitation
from panel.models.token import ApiToken, Scope
from panel.models.user import User

__all__ = ["ApiToken", "IdempotentRequest", "Invitation", "Scope", "User"]

"""What we ask of allauth: nobody makes an account by themselves."""

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class ClosedAdapter(DefaultAccountAdapter):
    """Sign-up is closed; staff add people."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Never."""
        return False

    def is_reauthentication_required(self, *, app: str, **kwargs: object) -> bool:
        """Never: the gate has asked for a fresh proof by then, of the strongest kind that the
        person has (`panel.power`)."""
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """Without the zone that a link-local address may carry: PostgreSQL knows none."""
        return super().get_client_ip(request).partition("%")[0]

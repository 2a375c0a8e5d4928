"""What we ask of allauth: nobody makes an account by themselves."""

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class ClosedAdapter(DefaultAccountAdapter):
    """Sign-up is closed; staff add people."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Never."""
        return False

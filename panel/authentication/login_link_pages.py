"""The page behind a login link of a billing panel. The token in the path is the only credential."""

from __future__ import annotations

from allauth.account.internal.flows.login import record_authentication
from allauth.account.utils import perform_login
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from panel.authentication import login_links
from panel.authentication.step_up import LINK

NOT_FOUND = 404


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def login_link(request: HttpRequest, token: str) -> HttpResponseBase:
    """A button that signs in; pressed, the person is where the link leads."""
    is_pressed = request.method == "POST"
    found = login_links.use_up(token) if is_pressed else login_links.waiting(token)
    if found is None:
        return render(request, "account/login_link_gone.html", status=NOT_FOUND)
    if not is_pressed:
        return render(request, "account/login_link.html", {"person": found.user})
    if request.user.is_authenticated and request.user.pk == found.user_id:
        return redirect(found.next_path)
    # Somebody else's session would be thrown away by the sign-in, and with it the record below.
    logout(request)
    record_authentication(request, found.user, LINK)
    # With a second factor set, this asks for it.
    signed_in: HttpResponseBase = perform_login(
        request, found.user, email_verification="none", redirect_url=found.next_path
    )
    return signed_in

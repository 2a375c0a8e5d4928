"""Pages for people who cannot sign in yet: the page behind a one-time link, whose token in the path
is the only credential, and the page for a forgotten password."""

from __future__ import annotations

from http import HTTPStatus

from allauth.account.internal.flows.login import record_authentication
from allauth.account.utils import perform_login
from allauth.account.views import PasswordResetView
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from panel.accounts import invitations
from panel.accounts.people_forms import AcceptForm
from storage import row_security
from storage.planner import Refused


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@row_security.beyond()
def invitation_page(request: HttpRequest, token: str) -> HttpResponseBase:
    """Choose a name and a password; then the person is signed in."""
    invitation = invitations.open_invitation(token)
    if invitation is None:
        return render(request, "account/invitation_gone.html", status=HTTPStatus.NOT_FOUND)
    known = invitation.user
    form = AcceptForm(
        invitation.email, request.POST or None, initial={"name": known.name if known else ""}
    )
    if request.method == "POST" and form.is_valid():
        try:
            person = invitations.accept_invitation(
                token, form.cleaned_data["name"], form.cleaned_data["password"]
            )
        except Refused as refused:
            form.add_error(None, f"{refused.message} {refused.correction}")
        else:
            # They have typed the password this moment: it counts as a proof while it is young.
            record_authentication(request, person, "password")
            # With a second factor set, this asks for it.
            signed_in: HttpResponseBase = perform_login(
                request, person, email_verification="none", redirect_url="/"
            )
            return signed_in
    code = HTTPStatus.UNPROCESSABLE_ENTITY if request.method == "POST" else 200
    place = invitations.place_words(invitation)
    context = {"form": form, "invitation": invitation, "place": place}
    return render(request, "account/invitation.html", context, status=code)


class ForgottenView(PasswordResetView):
    """allauth's page; where the panel sends no mail, it says so and creates nothing."""

    http_method_names = ("get", "head", "post")

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        answer: HttpResponse
        if settings.SMTP_HOST:
            answer = super().post(request, *args, **kwargs)
            return answer
        answer = self.render_to_response(self.get_context_data(form=None))
        answer.status_code = HTTPStatus.NOT_FOUND
        return answer


forgotten = ForgottenView.as_view()

"""allauth's forms with labels in our style: one capital, at the beginning."""

from __future__ import annotations

from typing import Any

from allauth.account import forms
from django import forms as django_forms
from django.conf import settings
from django.utils.translation import gettext


class SignInForm(forms.LoginForm):
    """Address, password, and whether this browser stays signed in."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        label(self, "login", gettext("E-mail address"))
        label(self, "remember", gettext("Keep me signed in"))


class ChangePasswordForm(forms.ChangePasswordForm):
    """The old password, and the new one twice."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        label(self, "oldpassword", gettext("Current password"))
        name_new_password(self)


class ForgottenPasswordForm(forms.ResetPasswordForm):
    """The address to mail a link to."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        label(self, "email", gettext("E-mail address"))


class AddressForm(forms.AddEmailForm):
    """One more address, which has to be confirmed by a link that is mailed there."""

    def clean_email(self) -> str:
        if not settings.SMTP_HOST:
            raise django_forms.ValidationError(
                gettext("This panel sends no mail, so you cannot confirm an address.")
            )
        email: str = super().clean_email()
        return email


class NewPasswordForm(forms.ResetPasswordKeyForm):
    """The new password twice, after a link that was mailed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        name_new_password(self)


class ProofForm(forms.ReauthenticateForm):
    """The password, once more."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        label(self, "password", gettext("Your password"))


def name_new_password(form: ChangePasswordForm | NewPasswordForm) -> None:
    """Label the two fields of a new password."""
    label(form, "password1", gettext("New password"))
    label(form, "password2", gettext("Repeat new password"))


def label(form: django_forms.Form, name: str, words: str) -> None:
    """Name a field, and drop the placeholder that says its old name."""
    field = form.fields[name]
    field.label = words
    field.widget.attrs.pop("placeholder", None)

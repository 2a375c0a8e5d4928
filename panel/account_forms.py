"""allauth's forms with labels written as all others here: one capital, at the beginning."""

from __future__ import annotations

from typing import Any

from allauth.account import forms


class SignInForm(forms.LoginForm):
    """Address, password, and whether this browser stays signed in."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["remember"].label = "Keep me signed in"


class ChangePasswordForm(forms.ChangePasswordForm):
    """The old password, and the new one twice."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["oldpassword"].label = "Current password"
        name_new_password(self)


class NewPasswordForm(forms.ResetPasswordKeyForm):
    """The new password twice, after a link that was mailed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        name_new_password(self)


def name_new_password(form: ChangePasswordForm | NewPasswordForm) -> None:
    """Label the two fields of a new password."""
    form.fields["password1"].label = "New password"
    form.fields["password2"].label = "New password, once more"

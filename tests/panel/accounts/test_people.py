"""People and signing in."""

from io import StringIO

import pytest
from allauth.account.models import EmailAddress
from django.core.management import CommandError, call_command
from django.db import IntegrityError
from django.test import Client

from panel.accounts import people
from panel.models import User

pytestmark = pytest.mark.django_db


def test_an_added_person_signs_in_with_their_email() -> None:
    people.add(email="ann@example.org", password="correct horse")
    client = Client()
    answer = client.post(
        "/account/login/", {"login": "Ann@example.org", "password": "correct horse"}
    )
    assert answer.status_code == 302
    assert client.session["_auth_user_id"]


def test_an_added_persons_email_is_verified() -> None:
    person = people.add(email="ann@example.org", password="correct horse")
    assert EmailAddress.objects.get(user=person).verified


def test_two_people_cannot_share_an_email_in_another_case() -> None:
    people.add(email="ann@example.org", password="correct horse")
    with pytest.raises(IntegrityError):
        people.add(email="ANN@example.org", password="correct horse")


def test_sign_up_is_closed(client: Client) -> None:
    form = {"email": "eve@example.org", "password1": "correct horse", "password2": "correct horse"}
    client.post("/account/signup/", form)
    assert not EmailAddress.objects.exists()


@pytest.mark.parametrize("run", ["first", "second"])
@pytest.mark.django_db(transaction=True)
def test_real_transactions_leave_no_rows_behind(run: str) -> None:
    assert not User.objects.exists()
    people.add(email="ann@example.org", password="correct horse")


def test_the_command_adds_a_person_who_signs_in_with_the_printed_password(client: Client) -> None:
    output = StringIO()
    call_command("person", "ann@example.org", "--staff=admin", stdout=output)
    password = output.getvalue().split()[-1]
    answer = client.post("/account/login/", {"login": "ann@example.org", "password": password})
    assert answer.status_code == 302
    assert User.objects.get().is_staff


def test_the_command_refuses_a_known_or_broken_address() -> None:
    people.add(email="ann@example.org", password="correct horse")
    with pytest.raises(CommandError, match="already exists"):
        call_command("person", "ANN@example.org")
    with pytest.raises(CommandError, match="no e-mail address"):
        call_command("person", "ann")

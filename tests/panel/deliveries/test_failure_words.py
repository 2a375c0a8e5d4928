"""What a person reads of a message that was not sent."""

from __future__ import annotations

import smtplib
import socket
import ssl

import pytest

from panel.deliveries.failure_words import failure_words


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "The server refused the connection."),
        (socket.gaierror(-2, "Name not known"), "DNS does not know the name of the server"),
        (TimeoutError("timed out"), "The server did not answer in time."),
        (ConnectionResetError(104, "reset by peer"), "The server closed the connection."),
        (smtplib.SMTPServerDisconnected("gone"), "The server closed the connection."),
        (OSError(113, "No route to host"), "The server cannot be reached: No route to host."),
        (
            smtplib.SMTPAuthenticationError(535, b"5.7.8 bad credentials"),
            "The server refused the user name or the password: 535 5.7.8 bad credentials",
        ),
        (
            smtplib.SMTPRecipientsRefused({"a@example.org": (550, b"no such user")}),
            "The server does not accept mail for a@example.org: 550 no such user",
        ),
        (ssl.SSLCertVerificationError(1, "x"), "The certificate of the server is not trusted"),
        (ValueError("the route has no person"), "the route has no person"),
        (OSError(), "OSError"),
    ],
)  # fmt: skip
def test_an_error_is_said_in_words(error: Exception, words: str) -> None:
    assert failure_words(error, "server").startswith(words)

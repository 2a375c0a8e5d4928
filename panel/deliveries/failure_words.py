"""Why a message was not sent, in words. Pure: programs outside the panel use `http_post`, too."""

from __future__ import annotations

import smtplib
import socket
import ssl
from typing import Final

WORDS: Final[dict[type[Exception], str]] = {
    ConnectionRefusedError: "The {} refused the connection.",
    TimeoutError: "The {} did not answer in time.",
    ConnectionResetError: "The {} closed the connection.",
    smtplib.SMTPServerDisconnected: "The {} closed the connection.",
}


def failure_words(error: Exception, server: str) -> str:
    """Why a message was not sent, for people; `server` names the receiver."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        to, (code, answer) = next(iter(error.recipients.items()), ("", (0, b"")))
        return f"The {server} does not accept mail for {to}: {code} {_text(answer)}"
    if isinstance(error, smtplib.SMTPAuthenticationError):
        refusal = f"{error.smtp_code} {_text(error.smtp_error)}"
        return f"The {server} refused the user name or the password: {refusal}"
    if isinstance(error, ssl.SSLCertVerificationError):
        why = getattr(error, "verify_message", "") or error
        return f"The certificate of the {server} is not trusted: {why}"
    if isinstance(error, socket.gaierror):
        return f"DNS does not know the name of the {server}."
    for kind, words in WORDS.items():
        if isinstance(error, kind):
            return words.format(server)
    if isinstance(error, OSError) and error.strerror and not isinstance(error, ssl.SSLError):
        return f"The {server} cannot be reached: {error.strerror}."
    return str(error) or type(error).__name__


def _text(answer: bytes | str) -> str:
    return answer.decode(errors="replace") if isinstance(answer, bytes) else answer

"""Masks credentials in URLs before they reach the log."""

import logging
import re

# A refused request leaves its one-time token usable, and Django logs the path of every refusal.
TOKEN = re.compile(
    r"(/(?:enrol|invitation|enter|notices/off|account/confirm-email|account/password/reset/key)/)"
    r"[\w:=-]+"
)


class TokenFilter(logging.Filter):
    """Lets every line pass, with one-time tokens masked."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record where its text holds a token."""
        text = record.getMessage()
        masked = TOKEN.sub(r"\1***", text)
        if masked != text:
            record.msg, record.args = masked, ()
        return True

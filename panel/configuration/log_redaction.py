"""Masks credentials in URLs before they reach the log."""

import logging
import re

# A refused request leaves its token usable, and Django logs the path of every refusal.
TOKEN = re.compile(
    r"(/(?:enrol|invitation|enter|notices/off|shared/benchmarks|kiosk|account/confirm-email"
    r"|account/password/reset/key)/)[\w:=-]+"
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

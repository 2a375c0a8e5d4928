"""The browser and system of a sign-in, in words, from its user agent."""

from __future__ import annotations

from ua_parser import parse

LONGEST = 60
READ_LIMIT = 512
DEVICES = {"iPhone": "an iPhone", "iPad": "an iPad", "Mac": "a Mac"}


def described(user_agent: str) -> str:
    """Such as "Firefox on Windows"; a program that is no known browser is named as it names
    itself, cut to `LONGEST` characters."""
    is_browser = user_agent.startswith("Mozilla/")
    known = parse(user_agent[:READ_LIMIT]) if is_browser else None
    if known is None or known.user_agent is None:
        return user_agent[:LONGEST] or "A program without a name"
    # "Mobile Safari", "Chrome Mobile iOS": the system follows.
    words = known.user_agent.family.split()
    browser = " ".join(word for word in words if word not in ("Mobile", "iOS"))
    device = DEVICES.get(known.device.family, "") if known.device else ""
    system = device or (known.os.family if known.os else "")
    return f"{browser} on {system}" if system else browser

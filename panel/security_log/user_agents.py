"""What signed in, in words, from what a browser says of itself."""

from __future__ import annotations

# The first that is found counts: most browsers also name the ones they descend from.
BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("CriOS/", "Chrome"),
    ("Safari/", "Safari"),
)
SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "an iPhone"),
    ("iPad", "an iPad"),
    ("Windows", "Windows"),
    ("Macintosh", "a Mac"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)
LONGEST = 60


def described(user_agent: str) -> str:
    """Such as "Firefox on Windows"; a program that is no known browser is named as it names
    itself, cut to `LONGEST` characters."""
    browser = _first(BROWSERS, user_agent)
    if not browser:
        return user_agent[:LONGEST] or "A program without a name"
    system = _first(SYSTEMS, user_agent)
    return f"{browser} on {system}" if system else browser


def _first(known: tuple[tuple[str, str], ...], text: str) -> str:
    return next((words for mark, words in known if mark in text), "")

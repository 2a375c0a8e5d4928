"""What signed in, in words."""

from __future__ import annotations

import pytest

from panel.security_log.user_agents import LONGEST, described

KHTML = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("user_agent", "words"),
    [
        (
            f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {KHTML} Chrome/142.0 Safari/537.36 Edg/142",
            "Edge on Windows",
        ),
        (f"Mozilla/5.0 (X11; Linux x86_64) {KHTML} Chrome/142.0 Safari/537.36", "Chrome on Linux"),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Firefox/145.0", "Firefox on Linux"),
        (
            f"Mozilla/5.0 (Linux; Android 10; K) {KHTML} Chrome/142.0 Mobile Safari/537.36",
            "Chrome on Android",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) Version/18.6 Safari/604.1",
            "Safari on an iPhone",
        ),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/26 Safari/605.1",
            "Safari on a Mac",
        ),
        ("Mozilla/5.0 (Plan9) Firefox/1.0", "Firefox"),
        ("curl/8.14.1", "curl/8.14.1"),
        ("x" * 200, "x" * LONGEST),
        ("", "A program without a name"),
    ],
)
def test_a_browser_is_named_with_its_system(user_agent: str, words: str) -> None:
    assert described(user_agent) == words

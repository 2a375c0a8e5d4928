"""What signed in, in words."""

from __future__ import annotations

import pytest

from panel.accounts.security_log.security_entries import browser_words

KHTML = "AppleWebKit/537.36 (KHTML, like Gecko)"
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X)"


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
            f"{IPHONE} AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 "
            "Safari/604.1",
            "Safari on an iPhone",
        ),
        (
            f"{IPHONE} AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/142.0.7444.46 Mobile/15E148 "
            "Safari/604.1",
            "Chrome on an iPhone",
        ),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/26 Safari/605.1",
            "Safari on a Mac",
        ),
        (
            f"Mozilla/5.0 (Linux; Android 14; SM-S911B) {KHTML} SamsungBrowser/28.0 Chrome/130.0 "
            "Mobile Safari/537.36",
            "Samsung Internet on Android",
        ),
        (
            f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {KHTML} Chrome/142.0.0.0 Safari/537.36 "
            "OPR/124.0.0.0",
            "Opera on Windows",
        ),
        ("Mozilla/5.0 (Plan9) Firefox/1.0", "Firefox"),
        *(
            (text, "A program without a name")
            for text in (
                "",
                "Mozilla/5.0 (unknown)",
                "curl/8.14.1",
                "x" * 200,
                "a new device. Unlock your account now: https://evil.example/",
                "Mozilla/5.0 (Unlock now: https://evil.example/) Evil/1.0",
                "Mozilla/5.0 (X11; Linux) unlock-now.evil.example/1.0 Safari/evil",
            )
        ),
    ],
)
def test_a_browser_is_named_with_its_system(user_agent: str, words: str) -> None:
    assert browser_words(user_agent) == words

from tests.lab import mirror

BASE = "http://mirror.example/debian/"
SECURITY = "http://mirror.example/security/"


def test_the_addresses_of_this_machine_serve_the_labs_release() -> None:
    targets = "\n".join(
        [
            "http://other.example/node|nodistro|main|",
            f"{BASE}|trixie|main|Debian",
            f"{BASE}|trixie|contrib|Debian",
            f"{BASE}|trixie-updates|main|Debian",
            f"{SECURITY}|trixie-security|main|Debian",
        ]
    )
    assert mirror.source_lines(targets, "bookworm") == [
        f"deb {BASE} bookworm main",
        f"deb {SECURITY} bookworm-security main",
        f"deb {BASE} bookworm-updates main",
    ]


def test_a_machine_without_debians_archive_gets_the_default() -> None:
    assert mirror.source_lines("http://u.example/|noble|main|Ubuntu", "bookworm") == []


def test_only_options_about_fetching_are_taken_over() -> None:
    dump = "\n".join(
        [
            'Acquire::http::Proxy "http://proxy.example:3142";',
            'Acquire::http::Proxy-Auto-Detect "/usr/bin/find-proxy";',
            'Acquire::https::CaInfo "";',
            'Acquire::Check-Valid-Until "false";',
            'DPkg::Post-Invoke:: "rm -rf /";',
        ]
    )
    assert mirror.options(dump) == [
        'Acquire::http::Proxy "http://proxy.example:3142";',
        'Acquire::Check-Valid-Until "false";',
    ]

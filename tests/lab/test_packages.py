from pathlib import Path

import pytest

from tests.lab import packages


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(packages, "SEARCH_PATH", str(tmp_path))
    monkeypatch.setattr(packages, "KEYRING", tmp_path / "absent.gpg")
    monkeypatch.setattr(packages, "is_root", lambda: False)


@pytest.mark.usefixtures("bare_machine")
def test_what_is_missing_is_named_with_the_line_that_installs_it() -> None:
    with pytest.raises(packages.LabUnavailable) as refusal:
        packages.install_packages(lambda _line: None)
    assert "apt-get install --no-install-recommends debian-archive-keyring" in str(refusal.value)
    for package in ("qemu-system-x86", "mmdebstrap", "genext2fs", "uidmap"):
        assert package in str(refusal.value)


@pytest.mark.usefixtures("bare_machine")
def test_root_needs_no_user_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "is_root", lambda: True)
    assert "uidmap" not in packages.missing_packages()


@pytest.mark.usefixtures("bare_machine")
def test_root_reads_the_packages_before_apt_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    monkeypatch.setattr(packages, "is_root", lambda: True)
    monkeypatch.setattr(packages, "_apt_get", lambda *words: events.append(" ".join(words)))
    monkeypatch.setattr("shutil.which", lambda name, path="": name if not path else None)
    packages.install_packages(lambda line: events.append(f"said {line}"))
    assert events[0].startswith("said Installing Debian packages for the lab: ")
    assert "qemu-system-x86" in events[0]
    assert events[1] == "update"
    assert events[2].startswith("install -y --no-install-recommends ")

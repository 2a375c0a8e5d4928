"""Benchmarks at the command line, at a live panel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.utils import timezone

from panel.benchmarks.target_presets import PRESETS
from panel.cli import benchmark_commands
from panel.cli.exit_codes import ExitCode
from panel.models import User
from storage.agent.benchmark.profiles import PROFILES
from storage.benchmarks.matrix import CacheState
from storage.byte_sizes import GIB
from storage.models import Benchmark, Host
from tests.benchmark_scene import EVENING, make_benchmark
from tests.heat_scene import count_heat
from tests.panel.cli.conftest import Tiercel
from tests.scene import Scene, scene
from tests.storage.benchmarks.run_files import fio_json

pytestmark = pytest.mark.django_db(transaction=True)
FEW = ("--target", "hdd", "--target", "lvmcache", "--data", "1G", "--cache", "512M")


@pytest.fixture
def here(admin: User) -> Scene:
    made = scene()
    said = {"quota_bytes": 64 * GIB, "fio": "3.33"}
    Host.objects.update(hello={"policy": {"vgs": ["vg0"]}, "benchmarks": said})
    return made


def test_a_benchmark_is_estimated_ordered_and_listed(tiercel: Tiercel, here: Scene) -> None:
    host = here.host.name
    estimated = tiercel("benchmark", "order", host, *FEW, "--estimate")
    assert estimated.code == 0 and "6 runs, about" in estimated.out
    assert not Benchmark.objects.exists()
    made = tiercel("benchmark", "order", host, *FEW, "--minutes", "2", "--title", "Evening", "-y")
    assert made.code == 0 and "wanted: 0 of 6 runs" in made.out
    assert "written to SSD at most" in made.error
    assert Benchmark.objects.get().matrix.seconds == 120
    listed = tiercel("benchmark", "list", "--host", host)
    assert "Evening" in listed.out and "0/6" in listed.out


def test_the_heat_of_a_volume_is_replayed(tiercel: Tiercel, here: Scene) -> None:
    count_heat(here.volume, 12, timezone.now())
    words = ("--profile", "heat", "--heat-of", here.volume.key)
    made = tiercel("benchmark", "order", here.host.name, *FEW, *words, "-y")
    assert made.code == 0
    assert Benchmark.objects.get().matrix.profiles[0].heat is not None


def test_the_command_line_offers_what_the_panel_does() -> None:
    assert tuple(PRESETS) == benchmark_commands.TARGETS
    assert tuple(PROFILES) == benchmark_commands.PROFILES
    assert tuple(CacheState) == benchmark_commands.STATES


def test_nothing_is_ordered_without_a_word(tiercel: Tiercel, here: Scene) -> None:
    assert tiercel("benchmark", "order", here.host.name, *FEW).code == ExitCode.USAGE
    assert not Benchmark.objects.exists()


def test_it_rests_goes_on_and_ends(tiercel: Tiercel, here: Scene) -> None:
    key = make_benchmark(here.host, EVENING, timezone.now(), done=2).key
    assert "paused: 2 of 12 runs" in tiercel("benchmark", "pause", key).out
    assert "running: 2 of 12 runs" in tiercel("benchmark", "resume", key).out
    assert "cancelled" in tiercel("benchmark", "cancel", key, "-y").out
    assert tiercel("benchmark", "resume", key).code == ExitCode.REFUSED


def test_one_is_watched_until_it_is_over(
    tiercel: Tiercel, here: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = make_benchmark(here.host, EVENING, timezone.now(), done=2).key
    monkeypatch.setattr("panel.cli.benchmark_commands.POLL_SECONDS", 0.05)
    late = tiercel("benchmark", "watch", key, "--timeout", "0.1")
    assert late.code == ExitCode.WAITED_TOO_LONG and "left" in late.error

    def end_it(seconds: float) -> None:
        Benchmark.objects.update(state="failed", ended_at=timezone.now(), message="No disk.")

    monkeypatch.setattr("panel.cli.benchmark_commands.sleep", end_it)
    failed = tiercel("benchmark", "watch", key)
    assert failed.code == ExitCode.FAILED and "No disk." in failed.error


def test_the_result_and_a_comparison_are_shown(tiercel: Tiercel, here: Scene) -> None:
    key = make_benchmark(here.host, EVENING, timezone.now()).key
    shown = tiercel("benchmark", "show", key)
    assert "lvmcache won" in shown.out and "slower by" in shown.out
    assert f"{key}.1" in tiercel("benchmark", "show", key, "--runs").out
    compared = tiercel("benchmark", "compare", key, "published")
    assert compared.code == 0 and "Differs, so there is no verdict" in compared.out
    assert tiercel("benchmark", "compare", "nothing").code != 0


def test_what_was_imported_is_exported_and_verified(
    tiercel: Tiercel, admin: User, tmp_path: Path
) -> None:
    output, export = tmp_path / "fio.json", tmp_path / "export.json"
    output.write_bytes(fio_json())
    made = tiercel("benchmark", "import", str(output), "--title", "A friend's", "--json").data
    assert tiercel("benchmark", "export", made["benchmark"]["key"], str(export)).code == 0
    agreed = tiercel("benchmark", "verify", str(export))
    assert agreed.code == 0 and "all agree" in agreed.out
    document = json.loads(export.read_text())
    document["runs"][0]["summary"]["iops"] = 7
    export.write_text(json.dumps(document))
    lied = tiercel("benchmark", "verify", str(export))
    assert lied.code == ExitCode.FAILED and "Run 1, iops: 7" in lied.out
    output.write_text("[]")
    assert tiercel("benchmark", "verify", str(output)).code == ExitCode.USAGE

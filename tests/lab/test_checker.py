import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab import checker
from tests.lab.load import CHECKER

SIZE_BYTES = 64 * checker.BLOCK_BYTES


@pytest.fixture
def device(tmp_path: Path) -> Path:
    file = tmp_path / "device"
    file.write_bytes(bytes(SIZE_BYTES))
    return file


def test_a_sound_device_passes(device: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    command = [sys.executable, str(CHECKER), str(device), "0", str(SIZE_BYTES), "1", str(report)]
    done = subprocess.run(command, check=False)
    assert done.returncode == 0
    result = json.loads(report.read_text())
    assert result["blocks"] == 64
    assert result["errors"] == 0
    assert result["reads"] >= 64


def test_a_stale_block_is_found(device: Path) -> None:
    region = checker.Region(str(device), 0, SIZE_BYTES)
    region.write(7)
    before = device.read_bytes()
    region.write(7)
    device.write_bytes(before)
    region.check(7)
    assert region.errors == 1
    assert region.first_error == "block 7 generation 2: found (7, 1)"


def test_a_misplaced_block_is_found(device: Path) -> None:
    region = checker.Region(str(device), 0, SIZE_BYTES)
    region.write(3)
    region.write(4)
    content = bytearray(device.read_bytes())
    block = checker.BLOCK_BYTES
    content[3 * block : 4 * block] = content[4 * block : 5 * block]
    device.write_bytes(content)
    region.check(3)
    assert region.first_error == "block 3 generation 1: found (4, 1)"


def test_only_the_region_is_written(device: Path) -> None:
    region = checker.Region(str(device), 8 * checker.BLOCK_BYTES, 8 * checker.BLOCK_BYTES)
    for block in range(8):
        region.write(block)
    content = device.read_bytes()
    assert not any(content[: 8 * checker.BLOCK_BYTES])
    assert not any(content[16 * checker.BLOCK_BYTES :])

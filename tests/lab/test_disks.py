from pathlib import Path

from tests.lab import disks


def test_the_hdds_are_slow_and_spin_and_the_ssds_do_neither(tmp_path: Path) -> None:
    files = disks.make_files(tmp_path)
    lines = [
        " ".join(disk.arguments(number, file))
        for number, (disk, file) in enumerate(zip(disks.DISKS, files, strict=True))
    ]
    ssds, hdds = lines[:2], lines[2:]
    assert all("rotation_rate=1," in line and "throttling" not in line for line in ssds)
    assert all("rotation_rate=7200," in line and "iops-total=300" in line for line in hdds)
    assert all("snapshot=on" in line for line in lines)


def test_the_disks_are_sparse(tmp_path: Path) -> None:
    for file in disks.make_files(tmp_path):
        assert file.stat().st_size >= 4 * disks.GIB
        assert file.stat().st_blocks == 0


def test_a_comma_in_the_path_does_not_end_the_option() -> None:
    drive = disks.DISKS[0].arguments(0, Path("/a,b/ssd0.raw"))[1]
    assert "file=/a,,b/ssd0.raw,format=raw" in drive

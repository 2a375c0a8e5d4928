"""The text that fio prints for people, in its versions."""

from __future__ import annotations

import pytest

from tests.storage.fio.outputs import only_job, read, warned

NEW = """rate_iops=500
a b: (g=0): rw=randrw, bs=(R) 4096B-4096B, ioengine=libaio, iodepth=4
fio-3.36
Starting 1 process

a b: (groupid=0, jobs=1): err= 0: pid=12: Wed Mar 11 17:13:19 2026
  Description  : [a test]
  read: IOPS=2048, BW=8192KiB/s (8389kB/s)(16.0MiB/2001msec)
    slat (nsec): min=1765, max=478357k, avg=27036.41, stdev=1047425.69
    clat (usec): min=3, max=1013.3k, avg=2451.73, stdev=24350.01
     lat (msec): min=1, max=1014, avg= 2.48, stdev=24.01
    clat percentiles (usec):
     |  1.00th=[   155], 50.00th=[   260],
     | 99.00th=[ 20317], 99.90th=[459277]
   bw (  KiB/s): min=   61, max=14664, per=100.00%, avg=2807.02, stdev=354.25, samples=4
   iops        : min=   15, max= 3666, avg=701.71, stdev=88.56, samples=4
  write: IOPS=1.5k, BW=6.00MiB/s (6.29MB/s)(12.0MiB/2000msec); 0 zone resets
    clat (nsec): min=300, max=9000, avg=800.50, stdev=1.00
  lat (usec)   : 4=0.01%, 10=0.02%
  fsync/fdatasync/sync_file_range:
    sync (msec): min=1, max=9, avg= 7.50, stdev= 1.00
    sync percentiles (usec):
     | 50.00th=[  7001]
  cpu          : usr=2.32%, sys=2.66%, ctx=509357, majf=0, minf=28
  IO depths    : 1=80.1%, 2=15.1%, 4=1.7%, 8=0.2%, 16=0.1%, 32=2.9%, >=64=0.0%
     issued rwts: total=4099,3000,0,7 short=0,0,0,0 dropped=0,0,0,0

Run status group 0 (all jobs):
   READ: bw=8192KiB/s (8389kB/s), 8192KiB/s-8192KiB/s, io=16.0MiB (16.8MB), run=2001-2001msec
"""

OLD = """r: (g=0): rw=randread, bs=4K-4K/4K-4K, ioengine=libaio, iodepth=16
fio 1.59
r: (groupid=1, jobs=8): err= 0: pid=2613
  read : io=4096.0MB, bw=611058KB/s, iops=152764 , runt=  6864msec
    clat (usec): min=16, max=27859, avg=825.75, stdev=781.28
    bw (KB/s) : min=61984, max=86376, per=12.55%, avg=76665.15, stdev=7193.34
  cpu          : usr=3.28%, sys=7.99%, ctx=60641, majf=0, minf=200
     issued r/w/d: total=1048576/0/0, short=0/0/0
"""


def test_counts_are_those_of_the_issued_line() -> None:
    job = only_job(read("o.txt", NEW))
    result = job.directions["read"]
    assert (job.jobname, job.fio_version, job.grouped) == ("a b", "fio-3.36", False)
    assert (result.total_ios, result.runtime_ms, result.io_bytes) == (4099, 2001, 16 * 1024**2)
    assert result.iops == pytest.approx(4099 / 2.001)
    assert (result.iops_from, result.iops_printed) == ("count", 2048)
    assert job.directions["write"].iops == 1500


def test_each_block_has_its_own_unit_and_suffixes() -> None:
    result = only_job(read("o.txt", NEW)).directions["read"]
    assert result.slat and (result.slat.mean_ns, result.slat.max_ns) == (27036.41, 478_357_000)
    assert result.clat and (result.clat.mean_ns, result.clat.max_ns) == (2_451_730, 1_013_300_000)
    assert result.lat and result.lat.mean_ns == 2_480_000
    assert result.clat.percentile_ns(99.9) == 459_277_000
    assert result.clat.percentile_ns(95) is None


def test_fsync_is_not_taken_for_a_write() -> None:
    result = only_job(read("o.txt", NEW)).directions["write"]
    assert result.clat and result.clat.mean_ns == 800.5
    assert result.clat.printed_percentiles_ns == {}


def test_kb_and_mb_were_powers_of_1024() -> None:
    job = only_job(read("o.txt", OLD))
    result = job.directions["read"]
    assert (result.io_bytes, result.total_ios) == (4 * 1024**3, 1_048_576)
    assert result.iops == pytest.approx(152764.568765)
    assert (job.group, job.grouped) == (1, True)


def test_without_the_counts_the_rate_is_as_printed() -> None:
    text = "\n".join(line for line in NEW.splitlines() if "issued" not in line)
    result = only_job(read("o.txt", text)).directions["write"]
    assert (result.total_ios, result.iops, result.iops_from) == (None, 1500, "printed")


def test_an_asked_rate_is_an_open_loop() -> None:
    assert warned(read("o.txt", NEW)) == {"rate-limited"}


def test_runs_in_one_file_are_repeats() -> None:
    result = read("o.txt", NEW + NEW.replace("pid=12", "pid=13"))
    assert [(job.document, job.comparable) for job in result.jobs] == [(0, True), (1, True)]


def test_what_a_status_interval_prints_on_the_way_is_interim() -> None:
    status = NEW.replace("16.0MiB/2001", "8.0MiB/1001").replace("12.0MiB/2000", "6.0MiB/1000")
    rest = NEW[NEW.index("a b: (groupid") :]
    assert [job.comparable for job in read("o.txt", status + rest).jobs] == [False, True]


def test_a_failed_job_is_shown_and_not_compared() -> None:
    text = NEW.replace("err= 0:", "err= 5 (file:io_u.c:1, error=Input/output error):")
    job = only_job(read("o.txt", text))
    assert (job.error, job.comparable) == (5, False)


def test_older_spaces_and_tabs_are_read() -> None:
    text = """fio 1.59
Jobs: 1 (f=1): [_r] [99.8% done] [eta 00m:01s]job1: (groupid=0, jobs=1): err= 0: pid=4691
 read : io=10240MB, bw=22626KB/s, iops=22 , runt=463447msec
   clat (usec): min=260 , max=1339.4K, avg=45248.86, stdev=66381.67
\tlat (usec): min=260 , max=1339.4K, avg=45249.23, stdev=66381.71
 cpu          : usr=0.03%, sys=1.51%, ctx=94037, majf=1, minf=281
\tissued r/w/d: total=10240/0/0, short=0/0/0
"""
    job = only_job(read("o.txt", text))
    result = job.directions["read"]
    assert (job.jobname, job.fio_version, result.total_ios) == ("job1", "fio 1.59", 10_240)
    assert result.clat and (result.clat.mean_ns, result.clat.max_ns) == (45_248_860, 1_339_400_000)
    assert result.lat and result.lat.mean_ns == 45_249_230


def test_an_output_may_stand_in_an_indented_quotation() -> None:
    text = "\n".join(f"    {line}" for line in NEW.splitlines())
    job = only_job(read("notes.md", f"# Monday\n\n{text}\n\nThat was it.\n"))
    assert (job.jobname, job.directions["read"].total_ios) == ("a b", 4099)


def test_a_sum_over_clients_is_marked() -> None:
    text = NEW + NEW[NEW.index("a b: (groupid") :].replace("a b:", "All clients:")
    assert [job.is_sum_of_others for job in read("o.txt", text).jobs] == [False, True]

"""A job file of an operator's own: what is on the list leaves, all else is refused by its line."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.fio.job_file import FioJob, JobFile, read_job_file
from storage.fio.job_options import ALLOWED

FILE = """; a mail server, as measured on Monday
[global]
direct=1
ioengine = libaio
runtime=10m
time_based
randrepeat=0

[reads of mail]
rw=randread
bssplit=4k/60:64k/40
iodepth=32
numjobs=4
random_distribution=zipf:1.20
size=50%

# begins when the first one is done
[log]
stonewall
rw=write
bs=16k
fdatasync=1
rate=10m
thinktime=500us
ioengine=psync
offset=50%
size=50%
"""


def jobs_of(text: str) -> tuple[FioJob, ...]:
    result = read_job_file(text.encode())
    assert not result.refusals
    return result.jobs


def refused(line: str) -> JobFile:
    result = read_job_file(f"[a]\nrw=read\n{line}\n".encode())
    assert not result.jobs
    assert [refusal.line for refusal in result.refusals] == [3]
    return result


def test_options_leave_as_fio_reads_them_without_doubt() -> None:
    mail, log = jobs_of(FILE)
    assert (mail.name, log.name) == ("reads of mail", "log")
    assert mail.options == {
        "direct": "1",
        "ioengine": "libaio",
        "runtime": "600",
        "time_based": "1",
        "randrepeat": "0",
        "rw": "randread",
        "bssplit": "4096/60:65536/40",
        "iodepth": "32",
        "numjobs": "4",
        "random_distribution": "zipf:1.2",
        "size": "50%",
    }
    assert (log.options["ioengine"], log.options["stonewall"]) == ("psync", "1")
    assert (log.options["rate"], log.options["thinktime"]) == (str(10 * 1024**2), "500")


def test_a_job_says_what_it_needs() -> None:
    mail, log = jobs_of(FILE)
    assert (mail.numjobs, mail.iodepth, mail.runtime_s) == (4, 32, 600)
    assert (mail.largest_block, log.largest_block) == (65_536, 16_384)
    assert (mail.writes, log.writes) == (False, True)


def test_what_leaves_is_accepted_again_unchanged() -> None:
    jobs = jobs_of(FILE)
    again = jobs_of("\n".join(job.section() for job in jobs))
    assert [(job.name, job.options) for job in again] == [(job.name, job.options) for job in jobs]


def test_a_later_global_section_holds_for_later_jobs_only() -> None:
    first, second = jobs_of("[global]\nbs=4k\n[a]\n[global]\nbs=8k\n[b]\n")
    assert (first.options["bs"], second.options["bs"]) == ("4096", "8192")


@pytest.mark.parametrize("end", ["\r\n", "\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_editors_of_all_kinds_are_welcome(end: str, mark: str) -> None:
    assert len(jobs_of(mark + "; für Müller\n[a]\nrw\t=\tread\n".replace("\n", end))) == 1


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("filename=/dev/sda", "names-a-place"),
        ("directory=/etc", "names-a-place"),
        ("filename_format=x", "names-a-place"),
        ("opendir=/", "names-a-place"),
        ("read_iolog=/tmp/x", "names-a-place"),
        ("replay_redirect=/dev/sda", "names-a-place"),
        ("mem=mmaphuge:/dev/hugepages/x", "names-a-place"),
        ("include /etc/passwd", "not-an-option"),
        ("include=/etc/passwd", "names-a-place"),
        ("exec_prerun=rm -rf /", "runs-a-command"),
        ("exec_postrun=id", "runs-a-command"),
        ("trigger=reboot", "runs-a-command"),
        ("trigger-remote=reboot", "runs-a-command"),
        ("unlink=1", "runs-a-command"),
        ("write_lat_log=/etc/cron.d/x", "writes-files"),
        ("write_hist_log=x", "writes-files"),
        ("write_iolog=x", "writes-files"),
        ("log_avg_msec=1", "writes-files"),
        ("output=/etc/x", "writes-files"),
        ("server=1", "reaches-others"),
        ("hostname=h", "reaches-others"),
        ("cgroup=x", "changes-the-host"),
        ("uid=0", "changes-the-host"),
        ("ioscheduler=none", "changes-the-host"),
        ("cpus_allowed=0", "changes-the-host"),
        ("hipri", "option-unknown"),
        ("RW=read", "option-unknown"),
        ("rw=randtrim", "value-refused"),
        ("ioengine=external:/tmp/x.so", "value-refused"),
        ("ioengine=exec", "value-refused"),
        ("ioengine=net", "value-refused"),
        ("bs=${SIZE}", "value-refused"),
        ("bs=(4*1024)", "value-refused"),
        ("bs=4Ki", "value-refused"),
        ("bs=1000", "value-refused"),
        ("bs=0", "value-refused"),
        ("bs=32m", "value-refused"),
        ("bs=4k # small", "value-refused"),
        ("bs=4k,4k,4k,4k", "value-refused"),
        ("bsrange=64k-4k", "value-refused"),
        ("bssplit=4k/60:64k/60", "value-refused"),
        ("size=10g", "value-refused"),
        ("size=0%", "value-refused"),
        ("size=101%", "value-refused"),
        ("offset=100%", "value-refused"),
        ("iodepth=1025", "value-refused"),
        ("iodepth=-1", "value-refused"),
        ("iodepth=0x10", "value-refused"),
        ("iodepth", "value-refused"),
        ("numjobs=33", "value-refused"),
        ("runtime=0", "value-refused"),
        ("runtime=500ms", "value-refused"),
        ("runtime=2d", "value-refused"),
        ("runtime=" + "9" * 500, "value-refused"),
        ("rwmixread=101", "value-refused"),
        ("rate=0", "value-refused"),
        ("direct=2", "value-refused"),
        ("random_distribution=zipf", "value-refused"),
        ("random_distribution=zipf:1", "value-refused"),
        ("random_distribution=zipf:nan", "value-refused"),
        ("random_distribution=pareto:2", "value-refused"),
        ("random_distribution=zoned:90/10:20/90", "value-refused"),
        ("sync=/x", "value-refused"),
        ("=1", "not-an-option"),
        ("rw=read\x00", "not-ascii"),
        ("rw=re\u0430d", "not-ascii"),
    ],
)
def test_what_is_not_on_the_list_is_refused_with_its_line(line: str, code: str) -> None:
    (refusal,) = refused(line).refusals
    assert refusal.code == code
    assert refusal.sentence.endswith(".")


@pytest.mark.parametrize(
    "name", ["", " ", "a/b", "../x", "global x", "Globals", "a]b", "-x", "x" * 65, "$x", "a\tb\x1b"]
)
def test_a_name_is_plain(name: str) -> None:
    result = read_job_file(f"[{name}]\nrw=read\n".encode())
    assert result.refusals[0].line == 1
    assert not result.jobs


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "no-job"),
        ("[global]\nrw=read\n", "no-job"),
        ("rw=read\n[a]\n", "no-section"),
        ("[a]\n[a]\n", "section-name"),
        ("[a\nrw=read\n", "section-name"),
        ("".join(f"[j{n}]\n" for n in range(17)), "too-many-jobs"),
        ("[a]\nbs=16m\niodepth=1024\nnumjobs=32\n", "too-much-memory"),
        ("[a]\nbssplit=4k/99:16m/1\niodepth=1024\n", "too-much-memory"),
        ("[a]\nsize=60%\noffset=50%\n", "past-the-end"),
        ("[a]\ntime_based\n", "no-runtime"),
        ("[a]\n" + "\n" * 1001, "too-large"),
        ("[a]\n;" + "x" * 70_000, "too-large"),
    ],
)
def test_what_no_single_line_shows_is_refused(text: str, code: str) -> None:
    result = read_job_file(text.encode())
    assert code in {refusal.code for refusal in result.refusals}
    assert not result.jobs


def test_all_faults_are_named_at_once() -> None:
    result = read_job_file(b"[a]\nfilename=/dev/sda\nbs=1\n[b]\nuid=0\n")
    assert [refusal.line for refusal in result.refusals] == [2, 3, 5]


words = st.one_of(
    st.sampled_from(
        [*ALLOWED, "filename", "include", "exec_prerun", "[a]", "[global]", "=", "/", "\n"]
    ),
    st.from_regex(r"[a-z_]{1,9}=[ -~]{0,12}\n", fullmatch=True),
    st.text(max_size=8),
)


@given(st.lists(words, max_size=30))
def test_nothing_leaves_but_options_of_the_list_with_plain_values(parts: list[str]) -> None:
    result = read_job_file("".join(parts).encode("utf-8", "replace"))
    assert bool(result.jobs) != bool(result.refusals)
    for job in result.jobs:
        assert set(job.options) <= set(ALLOWED)
        assert all(
            re.fullmatch(r"[a-z0-9_]+([:/.,%-][0-9.%]+)*%?", value)
            for value in job.options.values()
        )


@given(st.binary(max_size=200))
def test_no_bytes_make_it_fail(content: bytes) -> None:
    assert read_job_file(content).refusals or read_job_file(content).jobs

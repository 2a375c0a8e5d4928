"""What an administrator does: every click is a request to the running panel."""

from __future__ import annotations

import html
import re

from django.utils import timezone

from jobs.models import Job
from storage.models import Host, Volume
from tests.demo.visitor import Page, Visitor
from tests.integration.until import until

MIB = 1 << 20
JOB_SECONDS = 240
# A reading that a busy lab did not answer in time is made again by the schedule, after 300 s.
READ_SECONDS = 420
"""A lab on a busy machine answers slowly."""
ADD_CACHE_TRAIL = [
    ("pool.create", ["lvcreate", "blkdiscard", "lvchange", "lvconvert"]),
    ("cache.attach", ["lvconvert"]),
]
"""What a job that adds an lvmcache does, through whichever door it was asked for."""


class Person:
    """Signed in. A `Page.text` is HTML; `words` makes text of it."""

    def __init__(self, url: str, email: str, password: str) -> None:
        self.visitor, self.password = Visitor(url), password
        assert "logout" in self.visitor.sign_in(email, password).text

    def prove(self) -> None:
        """Show again who it is: what comes next destroys something."""
        page = self.visitor.get("/account/step-up/")
        self.visitor.send(page, "step-up", password=self.password)

    # Hosts.

    def host_page(self, host: Host, tab: str = "") -> str:
        return self.visitor.get(f"/hosts/{host.key}/{tab}").text

    def accept(self, host: Host, fingerprint: str) -> Page:
        """The fingerprint as read on the host itself, whatever the form offers."""
        page = self.visitor.get(f"/hosts/{host.key}/")
        return self.visitor.send(page, "/accept", fingerprint=fingerprint)

    def refresh(self, host: Host) -> None:
        """Read the host again and wait for what it says."""
        began = timezone.now()
        self.visitor.send(self.visitor.get(f"/hosts/{host.key}/"), "/refresh")

        def read() -> bool:
            host.refresh_from_db()
            times = (host.hello_at, host.facts_at)
            return all(at is not None and at > began for at in times)

        until(f"{host} is read again", read, READ_SECONDS)

    def settle_missing(self, host: Host) -> None:
        """What is missing there is gone for good."""
        page = self.visitor.get(f"/hosts/{host.key}/volumes")
        if f"/hosts/{host.key}/missing" in page.text:
            self.visitor.send(page, "/missing")

    # Volumes.

    def volume_page(self, volume: Volume) -> str:
        return self.visitor.get(f"/volumes/{volume.key}/").text

    def new_volume(
        self, host: Host, *, label: str, size_mib: int, layout: str, tier: str = "hdd"
    ) -> Job:
        """The preview of a new volume in the only group of the host that may be changed."""
        assert host.inventory is not None
        vg = next(vg for vg in host.inventory.vgs if vg.allowed)
        page = self.visitor.send(
            self.visitor.get("/volumes/new"), "/volumes/new",
            label=label, size=str(size_mib), unit="MiB", layout=layout, tier=tier,
            group=f"{host.key}/{vg.uuid}",
        )  # fmt: skip
        return filled(page)

    def add_cache(self, volume: Volume, size_mib: int, mode: str = "writethrough") -> Job:
        page = self.visitor.get(f"/volumes/{volume.key}/cache")
        return filled(self.visitor.send(page, "/cache", size_bytes=str(size_mib * MIB), mode=mode))

    def set_mode(self, volume: Volume, mode: str) -> Job:
        page = self.visitor.get(f"/volumes/{volume.key}/cache")
        return filled(self.visitor.send(page, "/cache", mode=mode))

    def remove_cache(self, volume: Volume) -> Job:
        page = self.visitor.get(f"/volumes/{volume.key}/")
        return filled(self.visitor.send(page, "/cache/remove"))

    def tag(self, volume: Volume) -> Job:
        page = self.visitor.get(f"/volumes/{volume.key}/")
        return filled(self.visitor.send(page, "/tag"))

    # Jobs.

    def job_page(self, job: Job) -> str:
        return self.visitor.get(f"/jobs/{job.key}/").text

    def apply(self, preview: Job) -> Job:
        """Confirm a preview; returns the job at once."""
        page = self.visitor.get(f"/jobs/{preview.key}/")
        return job_of(self.visitor.send(page, "/apply"))

    def apply_and_wait(self, preview: Job) -> Job:
        return finished(self.apply(preview))


def job_of(page: Page) -> Job:
    """The job whose page the panel showed."""
    found = re.search(r"/jobs/([a-z0-9]+)/$", page.url)
    assert page.status == 200 and found, f"HTTP {page.status} at {page.url}:\n{words(page.text)}"
    return Job.objects.get(key=found[1])


def filled(page: Page) -> Job:
    """The preview whose page the panel showed, once a worker has filled it."""
    preview = job_of(page)
    assert preview.dry_run
    return finished(preview)


def finished(job: Job, seconds: float = JOB_SECONDS) -> Job:
    """The job once it is over, however it ended."""

    def over() -> bool:
        job.refresh_from_db()
        return job.is_over

    until(lambda: f"{job} is over: {job.state} {job.explanation} {job.error}", over, seconds)
    return job


def argvs(job: Job) -> list[list[str]]:
    """Every command of a job or preview, in order."""
    return [command["argv"] for step in job.step_set.all() for command in step.commands]


def trail(job: Job) -> list[tuple[str, list[str]]]:
    """What a job did: each step's verb with the programs it ran."""
    return [(step.verb, [c["argv"][0] for c in step.commands]) for step in job.step_set.all()]


def words(page: str) -> str:
    """The text of a page as it is read: without tags, spaces in a row made one."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())

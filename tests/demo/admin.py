"""What the admin does in the demo: every click is a real request to the running panel."""

from __future__ import annotations

import time
from collections.abc import Callable

from jobs.models import Job, State
from storage.models import Customer, Host, Volume
from tests.demo.visitor import Page, Visitor

JOB_SECONDS = 400
POLL_SECONDS = 0.5
PATIENCE_SECONDS = 300
AGAIN_SECONDS = 5
OVERLOADED = ("timeout", "no_answer", "unreachable")
MIB = 1024**2


class Admin:
    def __init__(self, base_url: str, email: str, password: str) -> None:
        self.visitor = Visitor(base_url)
        page = self.visitor.sign_in(email, password)
        if "logout" not in page.text:
            raise RuntimeError(f"could not sign in at {page.url}")

    def accept(self, host: Host, fingerprint: str) -> None:
        """Accept the fingerprint read on the host itself; another one would be refused."""
        page = self.visitor.get(f"/hosts/{host.key}/")
        page = self.visitor.send(page, "/accept", fingerprint=fingerprint)
        if page.status != 200:
            raise RuntimeError(f"the fingerprint was not accepted: HTTP {page.status}")

    def refresh(self, host: Host) -> None:
        """Ask for a fresh inventory."""
        self.visitor.send(self.visitor.get(f"/hosts/{host.key}/"), "/refresh")

    def create_volume(
        self, host: Host, vg_uuid: str, *, label: str, customer: str, size_mib: int, layout: str
    ) -> Volume:
        """Fill in the form, read the preview, confirm, wait."""
        owner = Customer.objects.get(name=customer)
        preview = self._preview(
            "/volumes/new",
            "/volumes/new",
            customer=owner.key,
            label=label,
            size=str(size_mib),
            unit="MiB",
            group=f"{host.key}/{vg_uuid}",
            layout=layout,
        )
        return self.confirm(preview).its_volume

    def preview_cache(self, volume: Volume, *, size_mib: int, mode: str) -> Job:
        """Fill in the form of a cache, and wait until the preview is filled."""
        form = f"/volumes/{volume.key}/cache"
        return self._preview(form, "/cache", size_bytes=str(size_mib * MIB), mode=mode)

    def _preview(self, form: str, action: str, **values: str) -> Job:
        return patiently(
            lambda: over(_job_of(self.visitor.send(self.visitor.get(form), action, **values)))
        )

    def confirm(self, preview: Job) -> Job:
        """Do what the preview showed, and wait for the real job."""
        return patiently(lambda: over(self._press("/apply", preview)), self._resume)

    def _resume(self, job: Job) -> Job:
        """Decide that it goes on, and wait for it."""
        return over(self._press("/resume", job))

    def _press(self, button: str, job: Job) -> Job:
        """Press a button on a job's page; the job whose page then follows."""
        return _job_of(self.visitor.send(self.visitor.get(f"/jobs/{job.key}/"), button))


def _job_of(page: Page) -> Job:
    """The job whose page the panel showed."""
    parts = page.url.rstrip("/").split("/")
    if parts[-2] != "jobs":
        raise RuntimeError(f"HTTP {page.status} at {page.url} instead of a job:\n{page.text}")
    return Job.objects.get(key=parts[-1])


def patiently(ask: Callable[[], Job], resume: Callable[[Job], Job] | None = None) -> Job:
    """The job that is asked for, which is over. For some minutes, where the host had too much else
    to do for an answer, it is asked for again, or resumed where it waits for a decision. Raises
    with its own words when it did not succeed."""
    end, job = time.monotonic() + PATIENCE_SECONDS, ask()
    while job.error.get("code") in OVERLOADED and time.monotonic() < end:
        print(f"         {job.sentence} Trying again.", flush=True)
        time.sleep(AGAIN_SECONDS)
        job = resume(job) if resume and job.state == State.NEEDS_ATTENTION else ask()
    return succeeded(job)


def over(job: Job) -> Job:
    """Wait until a job has ended or needs a decision."""
    end = time.monotonic() + JOB_SECONDS
    while not (job.is_over or job.state == State.NEEDS_ATTENTION) and time.monotonic() < end:
        time.sleep(POLL_SECONDS)
        job.refresh_from_db()
    return job


def succeeded(job: Job) -> Job:
    if job.state != State.SUCCEEDED:
        raise RuntimeError(f"{job.sentence} {job.error.get('correction', '')}".strip())
    return job

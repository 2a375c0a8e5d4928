"""Every operation of an operator, by either door: each method gives its preview, and `confirm` the
job that came of it."""

from __future__ import annotations

from typing import Any, Protocol

from jobs.models import Job
from storage.models import Host, Volume
from tests.demo.visitor import Page
from tests.integration.person import MIB, Person, filled
from tests.integration.program import Program


class Origin(Protocol):
    """Sizes are in MiB. `set` takes the form's names of mode and settings."""

    def confirm(self, preview: Job) -> Job: ...
    def create(self, host: Host, layout: str, tier: str, size: int) -> Job: ...
    def extend(self, volume: Volume, size: int) -> Job: ...
    def move(self, volume: Volume, tier: str) -> Job: ...
    def retire(self, volume: Volume) -> Job: ...
    def restore(self, volume: Volume) -> Job: ...
    def destroy(self, volume: Volume) -> Job: ...
    def tag(self, volume: Volume) -> Job: ...
    def attach(self, volume: Volume, size: int, mode: str) -> Job: ...
    def set(self, volume: Volume, **settings: str) -> Job: ...
    def flush(self, volume: Volume) -> Job: ...
    def replace(self, volume: Volume, size: int) -> Job: ...
    def detach(self, volume: Volume) -> Job: ...
    def prepare(self, host: Host, device: str, serial: str) -> Job: ...


class ByPage:
    """The forms of the pages, as a browser without JavaScript sends them."""

    def __init__(self, person: Person) -> None:
        self._person = person

    def confirm(self, preview: Job) -> Job:
        return self._person.apply_and_wait(preview)

    def create(self, host: Host, layout: str, tier: str, size: int) -> Job:
        label = f"{layout} on {tier}"
        return self._person.new_volume(host, label=label, size_mib=size, layout=layout, tier=tier)

    def extend(self, volume: Volume, size: int) -> Job:
        return self._on_a_page_of_its_own(volume, "/extend", size=str(size), unit="MiB")

    def move(self, volume: Volume, tier: str) -> Job:
        return self._on_its_page(volume, "/move", tier=tier)

    def retire(self, volume: Volume) -> Job:
        return self._on_its_page(volume, "/retire")

    def restore(self, volume: Volume) -> Job:
        return self._on_its_page(volume, "/restore")

    def destroy(self, volume: Volume) -> Job:
        self._person.prove()
        return self._on_a_page_of_its_own(volume, "/destroy", confirm_label=volume.label)

    def tag(self, volume: Volume) -> Job:
        return self._on_its_page(volume, "/tag")

    def attach(self, volume: Volume, size: int, mode: str) -> Job:
        return self._on_a_page_of_its_own(volume, "/cache", size_bytes=str(size * MIB), mode=mode)

    def set(self, volume: Volume, **settings: str) -> Job:
        return self._on_a_page_of_its_own(volume, "/cache", **settings)

    def flush(self, volume: Volume) -> Job:
        return self._on_its_page(volume, "/cache/flush")

    def replace(self, volume: Volume, size: int) -> Job:
        return self._on_a_page_of_its_own(volume, "/cache/size", size_bytes=str(size * MIB))

    def detach(self, volume: Volume) -> Job:
        return self._on_its_page(volume, "/cache/remove")

    def prepare(self, host: Host, device: str, serial: str) -> Job:
        self._person.prove()
        page = self._get(f"/hosts/{host.key}/ssd")
        return filled(self._send(page, "/ssd", device=device, serial=serial))

    def _on_its_page(self, volume: Volume, action: str, **fields: str) -> Job:
        page = self._get(f"/volumes/{volume.key}/")
        return filled(self._send(page, f"/volumes/{volume.key}{action}", **fields))

    def _on_a_page_of_its_own(self, volume: Volume, action: str, **fields: str) -> Job:
        page = self._get(f"/volumes/{volume.key}{action}")
        return filled(self._send(page, f"/volumes/{volume.key}{action}", **fields))

    def _get(self, path: str) -> Page:
        return self._person.visitor.get(path)

    def _send(self, page: Page, action: str, **fields: str) -> Page:
        return self._person.visitor.send(page, action, **fields)


class ByApi:
    """Dry runs, made real as they were read."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def confirm(self, preview: Job) -> Job:
        return self._program.ask("POST", f"/jobs/{preview.key}/apply")

    def create(self, host: Host, layout: str, tier: str, size: int) -> Job:
        body = {"label": f"{layout} on {tier} by API", "host": host.key, "vg": "vg0"}
        body |= {"size_bytes": size * MIB, "layout": layout, "tier": tier}
        return self._program.ask("POST", "/volumes/?dry_run=true", body)

    def extend(self, volume: Volume, size: int) -> Job:
        return self._wish(volume, size_bytes=size * MIB)

    def move(self, volume: Volume, tier: str) -> Job:
        return self._wish(volume, tier=tier)

    def retire(self, volume: Volume) -> Job:
        return self._wish(volume, life="retired")

    def restore(self, volume: Volume) -> Job:
        return self._wish(volume, life="live")

    def destroy(self, volume: Volume) -> Job:
        return self._wish(volume, life="gone", confirm_label=volume.label)

    def tag(self, volume: Volume) -> Job:
        return self._wish(volume, managed=True)

    def attach(self, volume: Volume, size: int, mode: str) -> Job:
        return self._wish(volume, cache={"size_bytes": size * MIB, "mode": mode})

    def set(self, volume: Volume, **settings: str) -> Job:
        wanted = {name: int(text) if text.isdigit() else text for name, text in settings.items()}
        return self._wish(volume, cache=self._cache(volume) | wanted)

    def flush(self, volume: Volume) -> Job:
        return self._wish(volume, cache=self._cache(volume), flushed=True)

    def replace(self, volume: Volume, size: int) -> Job:
        return self._wish(volume, cache=self._cache(volume) | {"size_bytes": size * MIB})

    def detach(self, volume: Volume) -> Job:
        return self._wish(volume, cache=None)

    def prepare(self, host: Host, device: str, serial: str) -> Job:
        body = {"device": device, "serial": serial, "vg": "vg0"}
        return self._program.ask("POST", f"/hosts/{host.key}/ssds?dry_run=true", body)

    def _wish(self, volume: Volume, **wish: Any) -> Job:
        return self._program.ask("PUT", f"/volumes/{volume.key}/wish?dry_run=true", wish)

    def _cache(self, volume: Volume) -> dict[str, Any]:
        """Size and mode of the cache, as the volume's record has them: a wish for a cache names
        both."""
        volume.refresh_from_db()
        cache = volume.wish["cache"]
        mode = cache.get("mode") or cache["cache_mode"]
        return {"size_bytes": cache["size_bytes"], "mode": mode}

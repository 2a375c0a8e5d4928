"""Changes for many volumes by their pages, and what workers do with them."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from django.test import Client
from django.urls import reverse

from jobs.queue import bulk
from storage.models import Volume
from tests import make
from tests.scene import Scene, scene


def cached(label: str = "cached", mode: str = "writethrough") -> Scene:
    return scene(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa", mode=mode)), label=label)


def shown(client: Client, action: str, *there: Scene, **option: str) -> Any:
    """The answer to the chosen volumes."""
    keys = [each.volume.key for each in there]
    return client.post(reverse("volumes-bulk"), {"action": action, "volume": keys, **option})


def text_of(response: Any) -> str:
    return unescape(response.content.decode())


def confirmed(client: Client, page: Any) -> Any:
    """The result once a worker has begun with every volume."""
    began = begun(client, page)
    work_off()
    return client.get(began.url)


def begun(client: Client, page: Any) -> Any:
    """The answer to a click, before any worker came."""
    return client.post(reverse("volumes-bulk-confirm"), fields(page))


def fields(page: Any) -> dict[str, Any]:
    """What the browser sends of the preview: what was shown, and the volumes that are ticked."""
    text = page.content.decode()
    (sealed,) = re.findall(r'name="sealed" value="([^"]+)"', text)
    return {"sealed": sealed, "take": re.findall(r'name="take" value="([^"]+)"', text)}


def work_off() -> None:
    """What a worker does with all that is due."""
    for change_id in bulk.due_changes():
        while bulk.go_on(change_id):
            pass


def every(client: Client, query: str, action: str = "nobody") -> Any:
    chosen = {"action": action, "every": "1", "list": query}
    return client.post(reverse("volumes-bulk"), chosen)


def owned(count: int) -> list[Volume]:
    acme = make.customer("Acme")
    return [make.volume(label=f"app{n}", customer=acme) for n in range(count)]

"""A panel that notifies one person and one address of alerts, and what they got."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from standardwebhooks.webhooks import Webhook

from jobs.models import Alert
from panel.models import AlertRoute, User
from storage.models import Host
from tests.integration.hurried_settings import ROUND_SECONDS
from tests.integration.running import Running
from tests.integration.until import until
from tests.panel.deliveries.alerts.alert_messages import SECRET, arrived, route_to
from tests.panel.deliveries.alerts.receivers import Place, Postbox

WITHIN_SECONDS = 120
A_ROUND_AND_MORE = 3 * ROUND_SECONDS
"""In which problems are judged, and what is new of them is sent."""


@dataclass(frozen=True)
class Recipients:
    """What came by mail to Anna, and to the webhook."""

    panel: Running
    postbox: Postbox
    place: Place

    @property
    def subjects(self) -> list[str]:
        return [str(each["Subject"]) for each in self.postbox.got]

    @property
    def bodies(self) -> list[Any]:
        """What came by HTTP, with good signatures."""
        return [Webhook(SECRET).verify(each["body"], each["headers"]) for each in self.place.got]

    @property
    def codes(self) -> list[str]:
        """Of each alert that came by HTTP."""
        return [each["code"] for body in self.bodies for each in body["data"]["alerts"]]

    @property
    def types(self) -> list[str]:
        return [body["type"] for body in self.bodies]

    def wait_for(self, *types: str) -> None:
        """Until as many mails and webhooks came, and then for more than a round."""
        until(
            f"{types} came",
            lambda: len(self.place.got) >= len(types) and len(self.postbox.got) >= len(types),
            WITHIN_SECONDS,
        )
        time.sleep(A_ROUND_AND_MORE)
        assert self.types == list(types)
        assert len(self.subjects) == len(types)

    def of_host(self, host: Host) -> Counter[tuple[str, str, str]]:
        """How often each of the two was notified of what of which kind of problem."""
        return Counter(
            (message.route.kind, event.alert.family, event.kind)
            for message, event in arrived(self.postbox, self.place)
            if event.alert.host_id == host.pk
        )


@contextmanager
def recipients_of(panel: Running) -> Iterator[Recipients]:
    """Alerts have no other recipient meanwhile, and none afterwards."""
    with Postbox() as postbox, Place() as place:
        before = dict(panel.environment)
        panel.stop("housekeeping")
        panel.environment |= {
            "TIERCEL_SMTP_HOST": "127.0.0.1",
            "TIERCEL_SMTP_PORT": str(postbox.port),
            "TIERCEL_SMTP_STARTTLS": "0",
            "TIERCEL_ALERT_PRIVATE_HOSTS": "127.0.0.1",
        }
        panel.start("housekeeping")
        Alert.objects.all().delete()
        AlertRoute.objects.create(
            name="Anna", kind="email", user=User.objects.filter(staff_role="admin").first()
        )
        route_to(f"{place.url}/hook")
        try:
            yield Recipients(panel, postbox, place)
        finally:
            AlertRoute.objects.all().delete()
            panel.stop("housekeeping")
            panel.environment.clear()
            panel.environment |= before
            panel.start("housekeeping")

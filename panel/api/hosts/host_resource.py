"""What all addresses of one host have in common."""

from __future__ import annotations

from django.shortcuts import get_object_or_404

from panel.api.framework.resource import Resource
from panel.models import Scope
from storage.access import Right
from storage.models import Host


class HostResource(Resource):
    """What is about one host."""

    read_scope = Scope.HOSTS_READ
    staff_only = True
    write_scope = Scope.HOSTS

    def host(self, key: str, right: Right | None = None, *, with_inventory: bool = False) -> Host:
        """The host with this key; demands the right, if one is given."""
        rows = Host.objects.visible_to(self.user)
        host = get_object_or_404(rows if with_inventory else rows.without_inventory(), key=key)
        if right is not None:
            self.demand(right)
        return host

"""Storage hosts. Staff only: for anybody else there are none."""

from __future__ import annotations

from typing import ClassVar

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework import cursor, described
from panel.api.framework.resource import Resource, bad_parameter
from panel.api.nouns import host_json
from panel.api.shapes import HostShape
from storage.models import Host
from storage.models.host import HostState


class Hosts(Resource):
    """All hosts."""

    staff_only = True
    parameters: ClassVar = {"GET": (*cursor.PARAMETERS, "state")}

    @extend_schema(
        operation_id="hosts_list",
        summary="List hosts",
        parameters=[
            *described.PAGE,
            described.query("state", "in this state", enum=HostState.values),
        ],
        responses={
            200: described.page_of(HostShape, "HostPage"),
            **described.problems(400, 403, 404),
        },
    )
    def get(self, request: Request) -> Response:
        """Oldest first, without their volume groups."""
        rows = Host.objects.visible_to(self.user).without_inventory()
        if (state := request.query_params.get("state")) is not None:
            if state not in HostState.values:
                raise bad_parameter("state", "invalid", f"One of {', '.join(HostState.values)}.")
            rows = rows.filter(state=state)
        found, after = cursor.page(request, rows, "hosts")
        return Response(cursor.body(map(host_json, found), after))


class OneHost(Resource):
    """One host."""

    staff_only = True

    @extend_schema(
        operation_id="host",
        summary="Show a host",
        responses={200: HostShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """With its volume groups, as of the last inventory."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        return Response(host_json(host, groups=True))

"""Slow-read limits for hosts with a tag."""

from __future__ import annotations

from typing import ClassVar

from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import operation
from panel.api.framework.bodies import Body, save
from panel.api.framework.fields import DateTime, Integer, Text
from panel.api.framework.refs import Noun
from panel.api.framework.resource import Resource
from panel.models import Scope
from storage.access import Right
from storage.models import TagLimit
from storage.models.host import MOST_SLOW_MS, TAG_LIMIT


class TagLimitShape(Noun):
    """A limit for hosts with a tag, unless the volume's plan or the host has one of its own. With
    several tags, the strictest applies."""

    tag = Text("A tag of hosts. It may be new.")
    slow_read_ms = Integer("Average read time of a volume, in ms, from which it is a problem.")
    created_at = DateTime("When it was created.")


class TagLimitBody(Body):
    """The limit of a tag."""

    shows = TagLimitShape
    tag = Text(max_length=TAG_LIMIT)
    slow_read_ms = Integer(min_value=1, max_value=MOST_SLOW_MS)


class TagLimitResource(Resource):
    """Of the limits of tags."""

    read_scope = Scope.HOSTS_READ
    write_scope = Scope.HOSTS
    staff_only = True

    def limit(self, key: str, right: Right | None = None) -> TagLimit:
        """The limit with this key; demands the right, if one is given."""
        row = get_object_or_404(TagLimit, key=key)
        if right is not None:
            self.demand(right)
        return row

    def saved(self, row: TagLimit, status: int = 200) -> Response:
        """The limit with the values of the body."""
        save(row, self.read())
        return self.shown(row, status)


class TagLimits(TagLimitResource):
    """The tags that have a limit."""

    listing: ClassVar = Listing(
        "tag-limits",
        TagLimitShape,
        sorts={"tag": "tag"},
        searched=("tag",),
        search_text="Part of the tag.",
    )

    @operation("tag_limits_list", "List the limits of tags", listing)
    def get(self, request: Request) -> Response:
        """Oldest first."""
        return self.page(TagLimit.objects.all())

    @operation(
        "tag_limit_make",
        "Create the limit of a tag",
        TagLimitShape,
        status=201,
        body=TagLimitBody,
        problems=(400, 409),
    )
    def post(self, request: Request) -> Response:
        """For admins. A tag has one limit."""
        self.demand(Right.ADMINISTER)
        return self.saved(TagLimit(), status=201)


class OneTagLimit(TagLimitResource):
    """The limit of one tag."""

    @operation("tag_limit", "Show the limit of a tag", TagLimitShape)
    def get(self, request: Request, key: str) -> Response:
        """From which read time on volumes are slow there."""
        return self.shown(self.limit(key))

    @operation(
        "tag_limit_change",
        "Change the limit of a tag",
        TagLimitShape,
        body=TagLimitBody,
        problems=(409,),
    )
    def patch(self, request: Request, key: str) -> Response:
        """For admins."""
        return self.saved(self.limit(key, Right.ADMINISTER))

    @operation("tag_limit_delete", "Delete the limit of a tag")
    def delete(self, request: Request, key: str) -> Response:
        """For admins. The limits of other tags, or the default, then apply."""
        self.limit(key, Right.ADMINISTER).delete()
        return Response(status=204)

"""The tags of hosts: how many hosts have each, and from when on volumes there are slow."""

from __future__ import annotations

from collections import Counter

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from storage.access import Right, staff_view
from storage.models import Host, TagLimit
from storage.models.host import MOST_SLOW_MS, SLOW_READ_MS, TAG_LIMIT
from storage.models.tag_limit import one_tag
from storage.name_validators import demand_plain


class TagLimitForm(forms.Form):
    """A tag, and its limit; empty for none."""

    tag = forms.CharField(max_length=TAG_LIMIT, validators=[demand_plain])
    slow_read_ms = forms.IntegerField(
        min_value=1, max_value=MOST_SLOW_MS, required=False, label="Slow reads"
    )

    def clean_tag(self) -> str:
        """As hosts have it."""
        return one_tag(self.cleaned_data["tag"])


@staff_view()
@require_safe
def host_tags(request: HttpRequest) -> HttpResponse:
    """Each tag that a host or a limit has."""
    carried = Counter(
        tag
        for tags in Host.objects.visible_to(request.user).values_list("tags", flat=True)
        for tag in tags
    )
    limits = dict(TagLimit.objects.values_list("tag", "slow_read_ms"))
    rows = [(tag, carried[tag], limits.get(tag)) for tag in sorted({*carried, *limits})]
    context = {"rows": rows, "default_ms": SLOW_READ_MS, "most_ms": MOST_SLOW_MS}
    return render(request, "staff/hosts/host_tags.html", context)


@staff_view(Right.ADMINISTER)
@require_POST
def set_tag_limit(request: HttpRequest) -> HttpResponse:
    """The limit of a tag, or none."""
    form = TagLimitForm(request.POST)
    if not form.is_valid():
        for errors in form.errors.values():
            messages.error(request, " ".join(str(error) for error in errors))
        return redirect("host-tags")
    tag, slow_read_ms = form.cleaned_data["tag"], form.cleaned_data["slow_read_ms"]
    if slow_read_ms is None:
        TagLimit.objects.filter(tag=tag).delete()
        messages.success(request, f"The tag {tag} has no limit of its own.")
    else:
        TagLimit.objects.update_or_create(tag=tag, defaults={"slow_read_ms": slow_read_ms})
        messages.success(request, f"On hosts tagged {tag} a read is slow from {slow_read_ms} ms.")
    return redirect("host-tags")

"""A row of the list of volumes as HTML. Made here, because a page has up to 200 of them and a
template takes five times as long. Pure."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from django.urls import reverse
from django.utils.safestring import SafeString

from panel.templatetags.chips import chip, spark
from storage.formatting import iops, ms, percent, size
from storage.templatetags.units import moment

if TYPE_CHECKING:
    from panel.staff.volumes.list_pages import Listed

ROW: Final = (
    '<tr id="row-{key}" class="{marks}">{choose}'
    '<td data-label="Volume" class="volumes-name">'
    '<a class="text fw-medium" href="{url}">{label}</a>'
    '<span class="text-secondary text">{guest}</span>{chips}</td>'
    '<td data-label="Customer" class="cell-plain list-name">{customer}</td>'
    '<td data-label="Host" class="cell-plain list-name">{host}</td>'
    '<td data-label="Size" class="num text-lg-end cell-plain">{size}</td>'
    '<td data-label="Cache">{cache}</td>'
    '<td data-label="Share" class="cell-more of-cache num text-lg-end">{share}</td>'
    '<td data-label="Hit rate" class="of-cache now num text-lg-end" title="{reads}">{hit_rate}</td>'
    '<td data-label="IOPS" class="now num text-lg-end" title="{iops_words}">{iops}</td>'
    '<td data-label="Read latency" class="now num text-lg-end">{read_ms}</td>'
    '<td data-label="Dirty" class="of-cache now num text-lg-end{clean}">{dirty}</td>'
    '<td data-label="IOPS, 3 h" class="volumes-course cell-more">{course}</td></tr>'
)
CHOOSE: Final = (
    '<td class="volumes-choose"><input class="form-check-input" type="checkbox" id="choose-{0}"'
    ' name="volume" value="{0}" aria-label="Select {1}"{2}></td>'
)
DESTROYED: Final = ' disabled title="This volume was destroyed."'
SLOW: Final = '<a href="{}" title="Why is it slow?">{}</a>'
LINK: Final = '<a class="text" href="{}">{}</a>'
CACHE: Final = '<span class="num">{}</span> <span class="text-secondary">{}</span>'
NOBODYS: Final = '<span class="text-secondary">unassigned</span>'
NO_CACHE: Final = '<span class="text-secondary">none</span>'


def row_html(row: Listed, *, can_choose: bool) -> SafeString:
    """The row; with a box to choose it for an action on many. Names are escaped, figures have
    nothing to escape."""
    volume, place, latest, host = row.volume, row.placement, row.latest, row.host
    customer, key, label = volume.customer, volume.key, escape(volume.label)
    destroyed = DESTROYED if volume.destroyed_at is not None else ""
    mode = escape(place.cache_mode) if place is not None else ""
    course: str = spark(row.spark, "IOPS in the last 3 hours")
    if latest is not None and row.is_stale:
        course = moment(latest.at, is_old=True)
    read_ms = ms(latest.read_ms if latest else None)
    if row.is_slow and not row.is_stale:
        read_ms = SLOW.format(reverse("volume-slowness", args=[key]), read_ms)
    reads = f"of {iops(latest.accesses)} reads" if latest and latest.hit_rate is not None else ""
    html = ROW.format(
        key=key,
        marks=row.marks,
        choose=CHOOSE.format(key, label, destroyed) if can_choose else "",
        url=row.url,
        label=label,
        guest=escape(volume.guest) or "no guest",
        chips=" ".join(chip(each) for each in row.chips),
        customer=LINK.format(row.customer_url, escape(customer.name)) if customer else NOBODYS,
        host=LINK.format(row.host_url, escape(host.name)) if host is not None else "-",
        size=size(volume.size_bytes),
        cache=CACHE.format(escape(row.cache), mode) if row.cache else NO_CACHE,
        share=row.cache_share,
        reads=reads,
        hit_rate=percent(latest.hit_rate if latest else None),
        iops_words=row.iops_words,
        iops=iops(row.iops),
        read_ms=read_ms,
        clean="" if row.dirty_bytes else " cell-more",
        dirty=size(row.dirty_bytes),
        course=course,
    )
    return SafeString(html)

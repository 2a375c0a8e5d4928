"""The pictures of maps. Hundreds of tiles are refreshed every few seconds: templates would take
most of the time, and each of their line ends would be a node in the page."""

from __future__ import annotations

from collections.abc import Iterable

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from panel.charts.tiles import Branch, Frame, Strip, Thing, Tile, TilePicture

register = template.Library()

NONE = SafeString("")


@register.simple_tag
def map_picture(picture: TilePicture) -> SafeString:
    """A treemap. It is hidden from screen readers: a list beside it says the same."""
    return _picture(picture.height, (_tile(tile) for tile in picture.tiles))


@register.simple_tag
def map_devices(frames: Iterable[Frame]) -> SafeString:
    """Disks and arrays in a row."""
    return _picture("row", (_frame(frame) for frame in frames))


@register.simple_tag
def map_list(branches: Iterable[Branch]) -> SafeString:
    """The same in words."""
    return _list(
        format_html("{}{}", _words(each.thing), _list(map(_words, each.below))) for each in branches
    )


@register.filter
def branches(frames: Iterable[Frame]) -> list[Branch]:
    """Of disks and arrays."""
    return [frame.branch for frame in frames]


def _list(items: Iterable[SafeString]) -> SafeString:
    listed = format_html_join("", "<li>{}</li>", ((item,) for item in items))
    return format_html("<ul>{}</ul>", listed) if listed else NONE


def _words(thing: Thing) -> SafeString:
    name = format_html('<a href="{}">{}</a>', thing.url, thing.name) if thing.url else thing.name
    facts = f": {', '.join(thing.facts)}" if thing.facts else ""
    trouble = format_html(". <strong>{}</strong>", thing.trouble) if thing.trouble else ""
    return format_html('<span class="text">{}{}{}</span>', name, facts, trouble)


def _picture(height: str, tiles: Iterable[SafeString]) -> SafeString:
    return format_html(
        '<svg class="map-picture map-{}" width="100%" aria-hidden="true">{}</svg>',
        height,
        _together(tiles),
    )


def _together(parts: Iterable[SafeString]) -> SafeString:
    return format_html_join("", "{}", ((part,) for part in parts))


def _tile(tile: Tile) -> SafeString:
    thing = tile.thing
    face = format_html(
        '<rect class="face" width="100%" height="100%"/>{}{}',
        _strip(thing.strip, tile.strip_px) if thing.strip is not None else NONE,
        _text(tile) if tile.room != "none" else NONE,
    )
    if thing.url:
        face = format_html('<a href="{}" tabindex="-1">{}</a>', thing.url, face)
    return _box(tile, face)


def _box(tile: Tile, content: SafeString) -> SafeString:
    thing, place = tile.thing, tile.place
    lengths = (f"{each:.2f}%" for each in (place.x, place.y, place.width, place.height))
    return format_html(
        '<svg id="{}" class="tile {}" x="{}" y="{}" width="{}" height="{}">'
        "<title>{}</title>{}</svg>",
        thing.key,
        thing.look,
        *lengths,
        thing.title,
        content,
    )


def _strip(strip: Strip, high: int) -> SafeString:
    parts = (("strip-filled", strip.filled), ("strip-dirty", strip.dirty))
    return format_html(
        '<rect class="{}" width="100%" height="{}"/>{}',
        "strip strip-unknown" if strip.filled is None else "strip",
        high,
        format_html_join(
            "",
            '<rect class="{}" width="{}" height="{}"/>',
            ((name, f"{share:.2f}%", high) for name, share in parts if share),
        ),
    )


def _text(tile: Tile) -> SafeString:
    thing = tile.thing
    below = 5 if thing.strip is not None else 0
    figures = NONE
    if tile.has_figures:
        heats = ((name, heat.words) for name, heat in thing.heats)
        figures = format_html(
            '<text x="6" y="{}">{}{}</text>',
            33 + below,
            format_html_join("", '<tspan class="by-{}">{}</tspan>', heats) or thing.own_words,
            thing.strip.hits if thing.strip is not None else "",
        )
    return format_html(
        '<g class="tile-text{}"><text x="6" y="{}" class="tile-name">{}</text>{}</g>',
        " tile-wide" if tile.room == "wide" else "",
        17 + below,
        thing.name,
        figures,
    )


def _frame(frame: Frame) -> SafeString:
    """An array has its name above its disks."""
    if not frame.parts:
        return _tile(frame.tile)
    thing = frame.tile.thing
    words = ", ".join(
        each for each in (thing.detail, thing.fault.what if thing.fault is not None else "") if each
    )
    content = format_html(
        '<rect class="face" width="100%" height="100%"/><text x="6" y="16" class="tile-text">'
        '<tspan class="tile-name">{}</tspan> {}</text>'
        '<svg y="22" width="100%" height="54">{}</svg>',
        thing.name,
        words,
        _together(_tile(part) for part in frame.parts),
    )
    return _box(frame.tile, content)

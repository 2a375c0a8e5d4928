"""Parts that hold text of their page, and buttons that do something at once."""

from __future__ import annotations

from typing import NamedTuple

from django.template import Context, Template
from django.urls import reverse

from panel.templatetags.parts import links, volume_links
from storage.models import Volume
from tests.one_line import on_one_line


class Named(NamedTuple):
    name: str
    url: str


def rendered(text: str, **context: object) -> str:
    return on_one_line(Template(text).render(Context(context)))


def test_an_empty_state_holds_the_text_of_its_page_on_one_line() -> None:
    page = rendered(
        "{% emptystate title='No host' action_url='/new' action_text='Add' %}\n"
        "  Add {{ what }}\n  first.\n{% endemptystate %}",
        what="<one>",
    )
    assert ">No host</h2>" in page
    assert ">Add &lt;one&gt; first.</p>" in page
    assert 'href="/new">Add</a>' in page


def test_an_action_button_posts_to_its_route_with_the_token_of_the_page() -> None:
    page = rendered(
        '{% action_button "cache-flush" "v1" text="Flush" look="btn-sm" of=name %}',
        name="<disk>",
        csrf_token="secret",
    )
    assert f'<form method="post" action="{reverse("cache-flush", args=["v1"])}">' in page
    assert 'name="csrfmiddlewaretoken" value="secret"' in page
    assert 'class="btn btn-sm">Flush<span class="visually-hidden"> &lt;disk&gt;</span>' in page


def test_links_have_commas_between() -> None:
    assert links([Named("a", "/a/"), Named("<b>", "/b/")]) == (
        '<a href="/a/">a</a>, <a href="/b/">&lt;b&gt;</a>'
    )
    assert links([]) == ""


def test_a_volume_is_linked_by_its_label() -> None:
    volume = Volume(key="v1", label="web")
    assert volume_links([volume]) == f'<a href="{reverse("volume", args=["v1"])}">web</a>'

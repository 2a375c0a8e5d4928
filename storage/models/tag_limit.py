"""From which read time on volumes are slow on hosts with a tag."""

from __future__ import annotations

import pghistory
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from storage.models.host import MOST_SLOW_MS, TAG_LIMIT, tags_of
from storage.naming import new_key


@pghistory.track(
    pghistory.InsertEvent(),
    pghistory.UpdateEvent(row=pghistory.Old),
    pghistory.DeleteEvent(),
    context_field=pghistory.ContextJSONField(),
    append_only=True,
)
class TagLimit(models.Model):
    """A tag without a row has no limit of its own. Hosts may have the tag or not: a tag is a word,
    and what no host has any more says nothing."""

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    tag = models.CharField(
        max_length=TAG_LIMIT,
        unique=True,
        error_messages={"unique": "This tag has a limit already."},
    )
    slow_read_ms = models.PositiveIntegerField(
        validators=[MinValueValidator(1), MaxValueValidator(MOST_SLOW_MS)]
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("tag",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(slow_read_ms__gte=1, slow_read_ms__lte=MOST_SLOW_MS),
                name="tag_limit_in_range",
            ),
        )

    def __str__(self) -> str:
        return self.tag

    def clean(self) -> None:
        """The tag is kept as hosts have it."""
        try:
            self.tag = one_tag(self.tag)
        except ValidationError as error:
            raise ValidationError({"tag": error}) from None


def one_tag(text: str) -> str:
    """The tag as hosts have it; raises `ValidationError` for no word and for several."""
    tags = tags_of(text)
    if len(tags) != 1:
        raise ValidationError("A tag is one word.")
    return tags[0]

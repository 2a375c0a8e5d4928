"""Natural order of names: "app2" before "app10", capitals beside small letters.

The order is a column that the database computes (its function `natural_order`), so a page of ten
thousand names is sorted and cut by an index.
"""

from __future__ import annotations

from django.db.models import CharField, Func, GeneratedField


class NaturalOrder(Func):
    """What a name sorts by: small letters without accents, and every number in 20 digits."""

    function = "natural_order"
    output_field = CharField(max_length=4096, db_collation="C")


def natural_order(field: str) -> GeneratedField:
    """The column that a model sorts by instead of `field`."""
    return GeneratedField(
        expression=NaturalOrder(field),
        output_field=CharField(max_length=4096, db_collation="C"),
        db_persist=True,
    )

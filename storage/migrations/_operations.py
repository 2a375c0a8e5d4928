"""Operations of the migrations that make all tables of an app."""

from pathlib import Path

from django.db import migrations
from django.db.migrations.operations.base import Operation


class CreateModels(Operation):
    """Create models with their triggers, all at once. After each operation Django renders the
    models around its own anew: 70 separate ones take half a minute. The tables of `by_sql` are
    made by SQL files."""

    reversible = False

    def __init__(self, models, by_sql=()):
        self.models = models
        self.by_sql = by_sql

    def state_forwards(self, app_label, state):
        # They are rendered once more, when an operation next asks for them.
        state.__dict__.pop("apps", None)
        for each in (*self.models, *self.by_sql):
            each.state_forwards(app_label, state)

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        for each in self.models:
            each.database_forwards(app_label, schema_editor, from_state, to_state)
        for each in self.models:
            for trigger in each.options.get("triggers", ()):
                schema_editor.execute(trigger.install_sql, params=None)

    def describe(self):
        return f"Create {len(self.models) + len(self.by_sql)} models"


def run_sql(migration, *names):
    """Run files of `sql/` beside the migration, whose `__file__` is given. Those of functions,
    triggers and row security can be run again: a migration after a change of such a file."""
    folder = Path(migration).with_name("sql")
    return [migrations.RunSQL((folder / f"{name}.sql").read_text()) for name in names]

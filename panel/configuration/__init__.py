"""Building blocks of the settings: environment, databases, logs, beat, gunicorn.

In: environment variables. Out: values for `panel.settings`, checks of them.
"""

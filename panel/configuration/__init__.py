"""Building blocks of the settings: environment, databases, logs, beat.

In: environment variables. Out: values for `panel.settings`, checks of them.
"""

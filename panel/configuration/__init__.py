"""What the settings are made of: environment, databases, logs, beat.

In: environment variables. Out: values for `panel.settings`, checks of them.
"""

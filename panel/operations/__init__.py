"""Running the panel on a machine: supervisor, doctor, backup, secrets.

In: management commands. Out: processes, files and findings.
"""

"""Verbs: jobs, the runner, the transport to hosts, the collectors."""

"""Nouns: customers, hosts, volumes, caches, samples; pure planning over facts. Never opens SSH, never enqueues."""

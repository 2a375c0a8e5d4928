"""Measurements that are published, with what they are compared with."""

"""The lab host: a Debian virtual machine with a real kernel, real LVM and real bcache.

`python -m tests.lab boot` starts one; in Python it is `with Lab(name="x") as lab: …`.
"""

"""The machine: device-mapper, bcache, md, disks, LVM's report, programs.

In: questions of the agent. Out: plain values. `realhost.py` beside this folder touches the machine.
"""

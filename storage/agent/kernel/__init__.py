"""The machine: device-mapper, bcache, md, disks, LVM's report, programs.

In: questions of the agent. Out: plain values. Only here is the machine touched.
"""

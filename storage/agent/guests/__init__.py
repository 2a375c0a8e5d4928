"""Users of volumes: guests, mounts, exports; and informing guests of a new size.

In: devices. Out: their users. Only this package talks to QEMU and libvirt.
"""

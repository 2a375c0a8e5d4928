"""Who uses a volume: guests, mounts, exports; and guests told of a new size.

In: devices. Out: their users; QEMU and libvirt are spoken to here alone.
"""

"""States of hosts that people reported to the makers of LVM, mdadm, bcache, smartmontools and
hypervisors, made small, and more of the same classes; each with the right answer."""

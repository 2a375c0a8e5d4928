"""What guests try against their host, on the fake host and on the lab's kernel: `scenarios` says
what a guest writes, and each world plays it."""

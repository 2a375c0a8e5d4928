"""What pages, the API and the command line say of benchmarks: what was measured, who won and how
sure that is, charts, files to take away, and links to share."""

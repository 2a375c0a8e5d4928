"""The published evening of comparisons, played again on the lab's host: its matrix, its runs, and
the page that it becomes (docs/benchmark-lab.md)."""

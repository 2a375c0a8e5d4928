"""The published evening of comparisons, played again on the lab's host: its matrix, its runs, and
the page of documentation that it becomes."""

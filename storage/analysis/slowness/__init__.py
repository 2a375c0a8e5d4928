"""Why a volume is slow, or a disk busy: `course` finds when it was, `explanation` puts the figures
together, both pure; `slow_figures` reads them. `staff_words` and `customer_words` are the two
renderings."""

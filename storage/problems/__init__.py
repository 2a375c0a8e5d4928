"""Every kind of problem, declared once: its words, its times, what it follows from, and where it is
fixed. Nothing here says whether something is wrong: `jobs.problems` alone does."""

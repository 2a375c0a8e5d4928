"""What fio and YABS measured, read from the files they write. Pure: no Django, no database.

In: files as an operator has them, each a name and its bytes, in any of the formats that fio and
YABS write: JSON and JSON+ (several documents, lines before the first brace), terse (versions 2 to
5), the text for people, logs of IOPS, bandwidth and latency, histogram logs, and the JSON and text
of YABS. A file is recognised by what is in it. Only the quantity of a log is taken from its name,
because nothing in a log says it.

Out: `read_outputs` returns `Imported`: results of jobs, series of logs, histograms, warnings, and
refusals with their reason. Times are milliseconds, latencies nanoseconds, amounts bytes. None means
that the file does not say: it is never 0 and never guessed. A result that may be shown but not
compared says why (`reasons`).

`latency_bins` adds up fio's histograms and takes percentiles from the sums. `log_series` spreads
the rows of logs over a common grid.
"""

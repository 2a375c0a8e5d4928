"""The languages of pages that customers see: which one applies, how times are written, and the
compiled catalogues."""

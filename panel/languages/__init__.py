"""The languages of pages that customers see: whose is spoken, how times are written, and the
compiled catalogues."""

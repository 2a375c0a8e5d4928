"""The languages of customers' pages: which one a page uses, how times are written, and the compiled
catalogues."""

"""A page in the browser, served on this machine: paste a query or build a window set, and see its plan."""

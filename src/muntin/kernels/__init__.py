"""Batch kernels: all windows of all keys of a partition in one vectorised pass over its panes."""

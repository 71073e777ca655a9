"""The algebra of windows, on integers: what a window is, what covers what, where its slices fall."""

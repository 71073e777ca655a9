"""Many queries over one stream: what they share, what sharing costs, and which of them should."""

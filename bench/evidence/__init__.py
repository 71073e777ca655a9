"""All benchmarks one after another, and one page with every table and figure of the papers beside ours."""

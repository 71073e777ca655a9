"""Show a plan: first a frozen display model, then text, JSON, Mermaid, SVG or HTML."""

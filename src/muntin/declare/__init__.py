"""What users ask for: queries as values, written in Python or SQL."""

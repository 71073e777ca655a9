"""Measurements: workloads, and a report for every table and figure."""

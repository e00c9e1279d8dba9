"""The time budgets of the project, measured: `python -m benchmarks` from the root.

Nothing here passes or fails. Each row is the median of one run on this machine, next to its
budget and a reference tool's figure.
"""

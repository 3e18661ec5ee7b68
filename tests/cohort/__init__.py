"""The cohort: what judges known wrong and unusual solutions, and attacks. See run.py."""

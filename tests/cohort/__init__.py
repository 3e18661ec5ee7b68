"""The cohort: wrong and unusual submissions, a file a lesson. See run.py for their form."""

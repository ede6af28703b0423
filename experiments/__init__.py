"""The three verbs of the study: prepare, run, and what the status is."""

"""The learners of the study, one file each."""

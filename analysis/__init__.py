"""Tables and figures from the run logs."""

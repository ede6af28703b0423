"""Datasets: OpenML by task, embedded sets, and your own arrays and frames."""

"""Compiled code: arrays in, arrays out, no Python objects."""

"""Side-by-side timings against Vowpal Wabbit and coba."""

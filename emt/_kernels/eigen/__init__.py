"""The Eigen Memory Tree (Algorithms 1-3)."""

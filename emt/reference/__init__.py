"""The algorithms in plain Python, to be read: slow and explicit, one list per vector, one line per line of the paper.

They are also what the compiled code is compared with in the tests, choice by choice.
"""

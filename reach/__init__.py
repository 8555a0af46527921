"""Reach: the evaluations' store and the numbers and sentences that the pages show."""

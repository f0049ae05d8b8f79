"""Exact expectations of the quantities of lemmas about one or a few rounds; one file per paper."""

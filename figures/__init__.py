"""Figures, such as a bound against a run: one function for each figure.

A paper's module has a list `FIGURES`; adding a paper adds its module and nothing else.
"""

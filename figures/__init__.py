"""Pictures: bound against run, one function a figure.

A paper's module has a list `FIGURES`; adding a paper adds its module and nothing else.
"""

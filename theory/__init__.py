"""The papers as symbolic mathematics, and the engine that checks them.

It imports sympy and solvers only, and does not know the simulations.
"""

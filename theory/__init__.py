"""The papers as symbolic mathematics, and the engine that checks them.

Imports sympy and solvers only; knows nothing of the simulations.
"""

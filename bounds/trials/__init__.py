"""Tests of statements in numbers: on exact instances, against runs, of listings."""

"""Where a statement meets numbers: exact instances, runs, listings."""

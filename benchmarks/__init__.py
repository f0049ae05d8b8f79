"""Speed on one thread, as ratios to a named baseline that is measured in the same run."""

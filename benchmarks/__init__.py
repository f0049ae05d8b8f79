"""Speed, as ratios against a named baseline measured in the same run, on one thread."""

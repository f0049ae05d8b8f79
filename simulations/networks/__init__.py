"""Neural networks as problems: images, models, and trainings as TOML tables."""

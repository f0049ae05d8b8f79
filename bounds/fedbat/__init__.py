"""The FedBAT paper in numbers: its one-round statements on exact instances."""

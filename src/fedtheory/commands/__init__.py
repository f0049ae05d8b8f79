"""The commands, by what they are about; `fedtheory.cli` gives them their names."""

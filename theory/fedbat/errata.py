"""The errors of the FedBAT paper, by severity; what machines found about each is computed, not written here."""

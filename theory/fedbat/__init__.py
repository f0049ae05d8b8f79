"""FedBAT, federated binarisation-aware training: the statements, in the order of the paper."""

"""Li, Gundersen, Tjell, Wisniewski and Christensen: distributed EM with subspace perturbation, reproduced."""

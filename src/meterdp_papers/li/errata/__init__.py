"""The errata of Li, Gundersen, Tjell, Wisniewski and Christensen, "Privacy-Preserving Distributed EM ..."."""

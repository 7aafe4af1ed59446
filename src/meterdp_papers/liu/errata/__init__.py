"""The errata of Liu, Scaglione and Peisert, "Differentially Private Distribution Release of Gaussian Mixture ..."."""

"""Ramakrishna, Scaglione, Wu, Ravi and Peisert, Differential Privacy for Class-based Data."""

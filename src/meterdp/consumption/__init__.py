"""How much electricity households use, when, and which of them cause the peak: the analyst's first questions."""

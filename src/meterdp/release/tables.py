"""Tables of the ``release`` room. The release gate and its ledger will declare theirs here."""

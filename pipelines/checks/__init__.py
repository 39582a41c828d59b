"""Everything that can be known to go wrong before anything runs."""

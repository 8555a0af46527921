"""Candidates of ours: one folder a configuration, one file a problem (see `catalogue`)."""

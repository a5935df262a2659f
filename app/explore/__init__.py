"""The page Explore: launch a sweep and watch its frontiers, transfer and table."""

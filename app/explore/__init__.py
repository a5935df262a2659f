"""The page Explore: launch a sweep, and watch its plots and its table."""

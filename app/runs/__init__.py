"""The page Runs: find, compare, stop, resume and delete runs and sweeps."""

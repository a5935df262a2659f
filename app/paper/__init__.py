"""The page Paper: the tables and figures of the paper next to our results and the user's."""

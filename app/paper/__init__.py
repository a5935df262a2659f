"""The page Paper: the tables and figures of the paper beside what we and the user measured."""

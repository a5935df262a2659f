"""The page Lens: what other settings would have done at recorded steps, solved in the browser."""

"""Pictures and tables of runs: `data` makes the numbers, `interactive` shows them, `printed` and `files` keep them."""

"""The paper (arXiv 2410.00868, 2024): what it prints, and what we measured.

In: its tables as text (`tables`) and our published results (`published/`). Out: which of our runs belong to which row
(`selection`), the sweeps that train them (`presets`), and what holds of its claims (`claims`).
"""

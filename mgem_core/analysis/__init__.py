"""Stored runs → numbers to show and to compare.

In: the store. Out: frames of runs (`frames`) and of what they measured (`measurements`), means over seeds per
configuration (`aggregate`), differences within seeds (`paired`), names for lines (`legend`), and how far a sweep is and how
long it takes (`progress`, `estimate`).
"""

"""Turn stored runs into numbers to show and to compare.

In: the store. Out: frames of runs (`frames`) and of their measurements (`measurements`), means over seeds per configuration
(`aggregate`), paired differences within seeds (`paired`), names of lines (`legend`), the progress of a sweep (`progress`)
and its expected duration (`estimate`).
"""

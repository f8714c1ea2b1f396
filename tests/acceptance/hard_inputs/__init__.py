"""What real files and real users did to systems like this one, each with its right outcome.

The codes (A01 and so on) name kinds of faults; every kind comes with neighbours of its own.
"""

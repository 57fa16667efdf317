"""Places in the line of writers that ask the others to let them go first.

A place in line is kept until a time, since its writer may die. What has passed is ignored, and
removed some time later; so is what lies far ahead, because a clock was wrong or bytes have changed.
"""

# In line for all threads, or for a thread that does not exist yet and has no number.
ALL, NEW = 0, -1
# Seconds for which a place is kept at most, and after which one that was given up is removed.
LONGEST = 60.0

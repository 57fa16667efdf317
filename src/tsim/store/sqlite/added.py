"""Tables that were added after files had checksums, by the step of the schema that adds them.

A file that is only read may be of before.
"""

ADDED = {"sentence": 7}

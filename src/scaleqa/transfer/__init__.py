"""Other people's data: does what was built for our threads hold on theirs?"""

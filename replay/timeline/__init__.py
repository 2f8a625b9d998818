"""A picture of one application: what was held when, against what was needed, shuffle by shuffle.

Responsible for `collect` (from events to numbers) and `page` (from numbers to one HTML file that needs nothing else).
Refuses to know where events come from and who serves the page. Invariant: everything drawn names the events that it
follows from, and the page is drawn the same from a file and from a server.
"""

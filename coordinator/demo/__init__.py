"""The demo: a real PySpark application, once as it is and once with the plugin, and what that did to the disk.

Responsible for showing a person what they would gain. Refuses to know how the coordinator decides. Invariant: every
figure that it prints was measured in the run that it describes.

``workloads`` is what the application computes, ``job`` the application, ``disk`` what is on disk and when, ``ideal``
what would have been enough, ``run`` the two runs side by side, ``report`` what is printed.
"""

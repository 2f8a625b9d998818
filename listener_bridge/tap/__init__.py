"""The tap on a running driver: Java compiled in the driver at run time, and its Python end."""

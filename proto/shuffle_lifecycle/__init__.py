"""The protocol of the shuffle lifecycle coordinator, as generated code.

Made from the .proto files in `v1`; nobody edits it.
"""

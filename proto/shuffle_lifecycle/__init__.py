"""The protocol of the shuffle lifecycle coordinator, as generated code. Made from the .proto files beside it; nobody edits it."""

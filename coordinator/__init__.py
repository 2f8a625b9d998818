"""The coordinator: decides when shuffle data may be deleted, and answers who still wants it."""

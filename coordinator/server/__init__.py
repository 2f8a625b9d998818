"""The gRPC services over a replica, thin."""

"""Where answers come from: a server, a store, an exported log. `api.Source` is what they have in common."""

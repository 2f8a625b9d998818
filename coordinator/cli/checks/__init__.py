"""What `doctor` looks at: the machine, the store, the network. Each check is a function that gives one finding."""

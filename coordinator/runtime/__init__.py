"""One replica: the core's decisions, made durable in a state backend and told to those who wait for them."""

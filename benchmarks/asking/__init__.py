"""Who asks for shuffle ids in the benchmark `asking_rates`, each in a process of its own."""

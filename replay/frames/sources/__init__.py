"""Where logs are read from: stores with their archives, log files, exports in Arrow and Parquet."""

"""`tsim serve`: memories over HTTP. Needs the extra `server`."""

"""Files that describe an environment: read into statements, laid over a host, judged by the rules. Pure."""

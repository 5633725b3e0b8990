"""What people bring instead of a machine: logs, bug reports, outputs of other tools. Pure text to facts."""

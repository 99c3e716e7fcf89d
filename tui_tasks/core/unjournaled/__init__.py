"""What a database keeps outside the journal: connections, heartbeats, leases, output of runs, values of its own."""

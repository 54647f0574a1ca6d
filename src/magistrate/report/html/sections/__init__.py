"""What stands in a report, a module per question that a reader asks."""

"""When jobs are due, in which zone and by which settings; what their runs have printed, and who has them in hand."""

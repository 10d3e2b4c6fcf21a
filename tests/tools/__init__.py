"""Programs that measure, compare and judge, and test nothing by themselves."""

"""Programs that publish large sets, whose time and memory are measured."""

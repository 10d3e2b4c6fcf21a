"""Git, all of it: real repositories of every shape, built by real Pelican, every change decided by hand."""

"""Which files a build wrote."""

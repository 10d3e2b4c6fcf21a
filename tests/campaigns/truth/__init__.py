"""What was published of a site, compared with the builds of its commits."""

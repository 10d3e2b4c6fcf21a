"""What several packages of tests share: a site factory, servers, one reader of published documents, and clients."""

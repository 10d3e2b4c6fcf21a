"""What the tests of the bridge share: repositories made by hand or at random, servers, and oracles."""

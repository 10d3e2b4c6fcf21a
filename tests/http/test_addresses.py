"""Which addresses are public."""

import pytest

from pelican_resourcesync.http.urls import is_public


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.1",
        "169.254.169.254",
        "::1",
        "fe80::1%eth0",
        "fd00::1",
        "0.0.0.0",
        "224.0.0.1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "100.64.0.1",
        "2001:0:808:808::80ff:fffe",  # Teredo: none is requested, whatever it leads to (here 127.0.0.1, 88.18.41.30)
        "2001:0:4136:e378:8000:63bf:a7ed:d6e1",
        "no address",
    ],
)
def test_private_addresses(address: str) -> None:
    """Loopback, private, link-local, multicast and what stands for such."""
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "64:ff9b::5db8:d822"])
def test_public_addresses(address: str) -> None:
    """Addresses of the internet."""
    assert is_public(address)

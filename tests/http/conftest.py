"""Either client, one live site, and no proxies but those that a test names."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from pelican_resourcesync.http import Client
from pelican_resourcesync.http.curl_client import CurlClient
from pelican_resourcesync.http.urllib3_client import Urllib3Client
from tests.kit.live import Live, content, live, self_signed

_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_HANGS = 60.0  # seconds; nothing here takes a tenth of it


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in _PROXIES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=[Urllib3Client, CurlClient])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type[Client]:
    """Run a test with either client, which `Web` uses too; for one of them alone, name it by `parametrize`."""
    kind: type[Client] = request.param
    new = (lambda proxies: Urllib3Client(proxies=proxies)) if kind is Urllib3Client else lambda proxies: kind()
    monkeypatch.setattr("pelican_resourcesync.http.web.new_client", new)
    return kind


@pytest.fixture
def client(engine: type[Client]) -> Iterator[Client]:
    """Yield either client."""
    with engine() as client:
        yield client


@pytest.fixture
def site() -> Iterator[Live]:
    """Yield a site that answers `abc` to any path, until a test has it otherwise."""
    with live(content(b"abc", Content_Type="Text/Plain; charset=utf-8")) as site:
        yield site


@pytest.fixture
def in_time() -> Callable[[], AbstractContextManager[None]]:
    """Return a guard against hanging: what is in its block waits for less than what a host would make it wait."""

    @contextmanager
    def guarded() -> Iterator[None]:
        begin = time.monotonic()
        yield
        assert time.monotonic() - begin < _HANGS

    return guarded


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a certificate of loopback that nobody trusts."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not there to make a certificate")
    return self_signed(tmp_path_factory.mktemp("certificate"), openssl)


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a certificate that this machine trusts."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    return certificate

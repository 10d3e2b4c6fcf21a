"""Media types of files by the endings of their names, the same on every machine.

Python's `mimetypes` reads the configuration of the operating system, so results differ between machines. An explicit
table is checked first, and then only the built-in part of `mimetypes`. The types have no parameters, as the official
schema requires (`V1105`).
"""

from functools import lru_cache
from mimetypes import MimeTypes
from types import MappingProxyType

#: The type of a TimeMap (RFC 7089).
LINK_FORMAT = "application/link-format"

#: The type of a file if nothing better is known.
UNKNOWN_TYPE = "application/octet-stream"

TABLE = MappingProxyType(
    {
        "atom": "application/atom+xml",
        "atom.xml": "application/atom+xml",
        "avif": "image/avif",
        "bib": "text/plain",
        "bz2": "application/x-bzip2",
        "css": "text/css",
        "csv": "text/csv",
        "dcz": "application/x-dcz",
        "eot": "application/vnd.ms-fontobject",
        "epub": "application/epub+zip",
        "flac": "audio/flac",
        "geojson": "application/geo+json",
        "gif": "image/gif",
        "gz": "application/gzip",
        "htm": "text/html",
        "html": "text/html",
        "ico": "image/x-icon",
        "ics": "text/calendar",
        "ipynb": "application/x-ipynb+json",
        "jpeg": "image/jpeg",
        "jpg": "image/jpeg",
        "js": "text/javascript",
        "json": "application/json",
        "jsonld": "application/ld+json",
        "m4a": "audio/mp4",
        "map": "application/json",
        "md": "text/markdown",
        "mjs": "text/javascript",
        "mp3": "audio/mpeg",
        "mp4": "video/mp4",
        "oga": "audio/ogg",
        "ogg": "audio/ogg",
        "ogv": "video/ogg",
        "opus": "audio/ogg",
        "otf": "font/otf",
        "pdf": "application/pdf",
        "png": "image/png",
        "py": "text/x-python",
        "rdf": "application/rdf+xml",
        "rss": "application/rss+xml",
        "rss.xml": "application/rss+xml",
        "rst": "text/x-rst",
        "svg": "image/svg+xml",
        "tar": "application/x-tar",
        "text": "text/plain",
        "tif": "image/tiff",
        "tiff": "image/tiff",
        "toml": "application/toml",
        "ttf": "font/ttf",
        "ttl": "text/turtle",
        "txt": "text/plain",
        "wasm": "application/wasm",
        "wav": "audio/wav",
        "webm": "video/webm",
        "webmanifest": "application/manifest+json",
        "webp": "image/webp",
        "woff": "font/woff",
        "woff2": "font/woff2",
        "xhtml": "application/xhtml+xml",
        "xml": "application/xml",
        "xz": "application/x-xz",
        "yaml": "application/yaml",
        "yml": "application/yaml",
        "zip": "application/zip",
    }
)


def media_type(name: str) -> str:
    """Return the media type of a file by its name or path; the longest known ending of the name decides."""
    return _type_of(name.rpartition("/")[2].partition(".")[2].lower())


@lru_cache(maxsize=1_024)
def _type_of(ending: str) -> str:
    ends = ending.split(".")
    for start in range(len(ends)):
        known = TABLE.get(".".join(ends[start:]))
        if known:
            return known
    built_in = MimeTypes(filenames=())
    guessed, encoding = built_in.guess_type(f"name.{ends[-1]}", strict=True)
    return guessed if guessed and not encoding else UNKNOWN_TYPE


_TYPES = frozenset(
    {
        "application/epub+zip",
        "application/font-woff",
        "application/gzip",
        "application/java-archive",
        "application/ogg",
        "application/pdf",
        "application/vnd.android.package-archive",
        "application/vnd.rar",
        "application/x-7z-compressed",
        "application/x-bzip",
        "application/x-bzip2",
        "application/x-compress",
        "application/x-gzip",
        "application/x-lzma",
        "application/x-rar-compressed",
        "application/x-xz",
        "application/x-zip-compressed",
        "application/zip",
        "application/zstd",
        "font/woff",
        "font/woff2",
        "image/apng",
        "image/avif",
        "image/gif",
        "image/heic",
        "image/heif",
        "image/jp2",
        "image/jpeg",
        "image/jxl",
        "image/png",
        "image/webp",
    }
)
_FAMILIES = (
    "application/vnd.oasis.opendocument.",
    "application/vnd.openxmlformats-officedocument.",
    "audio/",
    "video/",
)
_PLAIN = frozenset(
    {"audio/aiff", "audio/basic", "audio/midi", "audio/vnd.wave", "audio/wav", "audio/x-aiff", "audio/x-wav"}
)


def is_compressed(media_type: str) -> bool:
    """Return whether bytes of this media type are already compressed."""
    name = media_type.partition(";")[0].strip().lower()
    return name in _TYPES or name.endswith(("+zip", "+gzip")) or (name.startswith(_FAMILIES) and name not in _PLAIN)

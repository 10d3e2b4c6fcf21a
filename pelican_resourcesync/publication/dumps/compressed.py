"""Media types whose bytes are already compressed: deflating them again takes time and gains nothing.

All others are deflated, unknown ones too. A package is written once and downloaded often, deflating adds at most a
thousandth, and an unknown file on a site is more likely to be data than a picture.
"""

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

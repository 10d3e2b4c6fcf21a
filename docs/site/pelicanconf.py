"""The documentation as a Pelican site: `make docs` builds it, and publishes it with the plug-in that it is about."""

import os

SITENAME = "pelican-resourcesync"
SITEURL = os.environ.get("SITEURL", "http://localhost:8000")
PATH = ".."
OUTPUT_PATH = "../../build/docs"
DELETE_OUTPUT_DIRECTORY = True
TIMEZONE = "UTC"
DEFAULT_LANG = "en"
THEME = "theme"
PLUGIN_PATHS = ["."]
PLUGINS = ["documents", "pelican_resourcesync"]

PAGE_PATHS = [""]
PAGE_EXCLUDES = ["site", "examples", "workflows"]
ARTICLE_PATHS: list[str] = []
STATIC_PATHS = ["page.png", "pictures", "examples", "workflows"]
STATIC_EXCLUDES: list[str] = []
DIRECT_TEMPLATES: list[str] = []
THEME_STATIC_PATHS = ["static"]
CACHE_CONTENT = False
FEED_ALL_ATOM = CATEGORY_FEED_ATOM = TRANSLATION_FEED_ATOM = AUTHOR_FEED_ATOM = AUTHOR_FEED_RSS = None

RESOURCESYNC = {
    "changes_by": "week",
    "dumps": True,
    "archives": {"resourcelist": 2, "resourcedump": 2},
    "sets": {"site": {}, "en": {"languages": ["en"]}},
    "sitemap": True,
    "robots": True,
    "license": "MIT",
}

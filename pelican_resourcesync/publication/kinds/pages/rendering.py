"""Render one page from its template: the theme's or ours, in the language of the site, with links relative to it."""

import posixpath
import re
from collections.abc import Sequence
from copy import copy
from datetime import UTC, datetime
from functools import partial
from types import CodeType
from typing import Any, Self
from urllib.parse import quote

from jinja2 import BytecodeCache, ChoiceLoader, Environment, FileSystemLoader, PackageLoader, PrefixLoader
from jinja2.bccache import Bucket
from markupsafe import Markup

from pelican_resourcesync.protocol import ChangeKind, render_datetime
from pelican_resourcesync.publication.kinds.pages.titles import shown_path
from pelican_resourcesync.publication.kinds.pages.translations import Language
from pelican_resourcesync.publication.model.layout import DESCRIPTION, HTML_PAGE
from pelican_resourcesync.publication.model.options import Options, PageOptions
from pelican_resourcesync.system.html_titles import short, visible
from pelican_resourcesync.system.printable import get_logger

logger = get_logger(__name__)

#: What people call the kinds of changes.
_WORDS = {ChangeKind.CREATED: "new", ChangeKind.UPDATED: "changed", ChangeKind.DELETED: "removed"}


class Page:
    """One page or other file for people, at `path` in the output."""

    def __init__(self, options: Options, path: str) -> None:
        """Render it with the options of its set."""
        self.options, self.path = options, path
        self.language = Language.of(options.page.language)
        self._environment = environment_of(options.page)

    def at(self, path: str) -> Self:
        """Return another page of the set."""
        page = copy(self)
        page.path = path
        return page

    def render(self, template: str, heading: Sequence[str] = (), **values: Any) -> bytes:
        """Return what a template makes of these values; `heading` are the parts of its heading after the name.

        If a template of the theme fails, the page is that of our template, with a warning.
        """
        options, page, layout = self.options, self.options.page, self.options.layout
        name = visible(options.site_name)
        shown = name or self.text("This site")
        values = {
            **page.variables,
            "name": shown,
            "parts": heading,
            "heading": ": ".join([shown, *heading]),
            "title": ": ".join([self._title(name), *heading]),
            "site_name": name,
            "home": page.home or f"{layout.siteurl}/",
            "language": self.language.code,
            "front": self.href(HTML_PAGE),
            "description": self.href(DESCRIPTION),
            "capability_list": self.href(layout.capability_list),
            "feeds": [layout.feed],
            "href": self.href,
            "page": self.href(layout.html_page),
            "change_pages": self.href(layout.change_pages),
            "path": partial(shown_path, layout=layout),
            "word": lambda kind: self.text(_WORDS[kind]),
            **values,
        }
        name = f"resourcesync/{template}"
        try:
            return self._environment.get_template(name).render(values).encode()
        except Exception as error:
            if not page.templates:
                raise
            file, line = (getattr(error, each, None) for each in ("filename", "lineno"))
            where = f"{file}:{line}: " if file and line else ""
            logger.warning(  # which Pelican prints once, however many pages there are
                "ResourceSync: a page for people (%s) is written without the theme's templates: %s%s: %s: correct or "
                "remove these, in the theme's templates/resourcesync",
                *(template, where, type(error).__name__, str(error).rstrip(".")),
            )
        return environment_of(PageOptions(language=page.language)).get_template(name).render(values).encode()

    def href(self, path: str) -> str:
        """Return the link to a document, relative to this page, so that it works from a file too."""
        return quote(posixpath.relpath(path, posixpath.dirname(self.path)))

    def text(self, english: str, **values: str) -> str:
        """Return a text in the language of the page."""
        return self.language.text(english) % values

    def _title(self, name: str) -> str:
        return self.text("%(name)s over ResourceSync", name=name) if name else self.text("This site over ResourceSync")


class _CompiledTemplates(BytecodeCache):
    """The templates compiled in this process: compiling them takes longer than all else that is done for the pages."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        if bucket.code is not None:
            self._codes[bucket.key, bucket.checksum] = bucket.code


_COMPILED = _CompiledTemplates()


def environment_of(page: PageOptions) -> Environment:
    """Return the environment of the templates: those of the theme first, and ours, also as `!resourcesync/NAME`."""
    package = __package__.rpartition(".")[0]
    ours = PackageLoader(package, "pages/templates")
    loaders = [
        FileSystemLoader(page.templates),
        ours,
        PrefixLoader({"!resourcesync": PackageLoader(package, "pages/templates/resourcesync")}),
    ]
    environment = Environment(
        loader=ChoiceLoader(loaders),
        bytecode_cache=_COMPILED,
        optimized=False,  # which would apply the filters of one page's language while compiling
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    language = Language.of(page.language)
    environment.filters |= {
        **page.filters,
        "number": language.number,
        "size": language.size,
        "date": language.date,
        "period": language.period,
        "iso": render_datetime,
        "minute": lambda time: f"{time.astimezone(UTC):%H:%M}",
        "short": short,
        "linkable": lambda text: text.startswith(("https://", "http://", "mailto:")),
    }
    environment.globals["_"] = partial(_translate, language)
    return environment


def _translate(language: Language, english: str, **values: str) -> Markup:
    """Return a text of ours, in which values are escaped."""
    text = Markup(language.text(english))  # noqa: S704 - from our catalogs
    return text % values if values else text


def mirror_command(siteurl: str) -> str:
    """Return the command that copies a site into a folder named after its host, quoted for any shell."""
    return f"pelican-resourcesync mirror {_quoted(f'{siteurl}/')} {_quoted(_folder(siteurl))}"


def restore_command(siteurl: str, time: datetime) -> str:
    """Return the command that copies a site as it was at a time, quoted for any shell."""
    at = render_datetime(time)
    return f"pelican-resourcesync restore {_quoted(f'{siteurl}/')} {_quoted(f'{_folder(siteurl)}-{at[:10]}')} --at {at}"


def _folder(siteurl: str) -> str:
    host = siteurl.partition("://")[2].partition("/")[0]
    return re.sub(r"[^A-Za-z0-9.-]+", "-", host).strip("-.") or "copy"


def _quoted(argument: str) -> str:
    """Return an argument as every shell takes it, quoted only where it must be."""
    return argument if re.fullmatch(r"[A-Za-z0-9_@%+=:,./-]+", argument) else "'" + argument.replace("'", "%27") + "'"

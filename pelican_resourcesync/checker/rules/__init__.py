"""All rules of the checker, one module for each part of the standard; `X05` and the like are their identifiers."""

from pelican_resourcesync.checker.rule import RULES
from pelican_resourcesync.checker.rules import contents, dumps, lists, references, whole_source, xml

__all__ = ["RULES", "contents", "dumps", "lists", "references", "whole_source", "xml"]

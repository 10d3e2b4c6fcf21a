"""A small OJS for tests, with journals and articles of every kind; and what is public of it, by hand.

The columns are those that the migrations of the branch `stable-3_4_0` create (pkp-lib: Submissions, SubmissionFiles,
Files and ControlledVocab in `classes/migration/install`; ojs: Journals and OJS). `stable-3_3_0` has all that are read.
"""

from datetime import UTC, datetime

from repo_bridge.reading.query import QueryRow
from tests.kit.repository.inserting import Row, insert

OJS = """
CREATE TABLE journals (journal_id BIGINT, path VARCHAR(32), seq REAL, primary_locale VARCHAR(14), enabled SMALLINT,
    current_issue_id BIGINT);
CREATE TABLE journal_settings (journal_setting_id BIGINT, journal_id BIGINT, locale VARCHAR(14),
    setting_name VARCHAR(255), setting_value TEXT);
CREATE TABLE issues (issue_id BIGINT, journal_id BIGINT, volume SMALLINT, number VARCHAR(40), year SMALLINT,
    published SMALLINT, date_published TIMESTAMP, date_notified TIMESTAMP, last_modified TIMESTAMP,
    access_status SMALLINT, open_access_date TIMESTAMP, show_volume SMALLINT, show_number SMALLINT,
    show_year SMALLINT, show_title SMALLINT, style_file_name VARCHAR(90), original_style_file_name VARCHAR(255),
    url_path VARCHAR(64), doi_id BIGINT);
CREATE TABLE submissions (submission_id BIGINT, context_id BIGINT, current_publication_id BIGINT,
    date_last_activity TIMESTAMP, date_submitted TIMESTAMP, last_modified TIMESTAMP, stage_id BIGINT,
    locale VARCHAR(14), status SMALLINT, submission_progress VARCHAR(50), work_type SMALLINT);
CREATE TABLE publications (publication_id BIGINT, access_status BIGINT, date_published DATE, last_modified TIMESTAMP,
    primary_contact_id BIGINT, section_id BIGINT, seq REAL, submission_id BIGINT, status SMALLINT,
    url_path VARCHAR(64), version BIGINT, doi_id BIGINT);
CREATE TABLE publication_settings (publication_setting_id BIGINT, publication_id BIGINT, locale VARCHAR(14),
    setting_name VARCHAR(255), setting_value TEXT);
CREATE TABLE publication_galleys (galley_id BIGINT, locale VARCHAR(14), publication_id BIGINT, label VARCHAR(255),
    submission_file_id BIGINT, seq REAL, remote_url VARCHAR(2047), is_approved SMALLINT, url_path VARCHAR(64),
    doi_id BIGINT);
CREATE TABLE submission_files (submission_file_id BIGINT, submission_id BIGINT, file_id BIGINT,
    source_submission_file_id BIGINT, genre_id BIGINT, file_stage BIGINT, direct_sales_price VARCHAR(255),
    sales_type VARCHAR(255), viewable SMALLINT, created_at TIMESTAMP, updated_at TIMESTAMP, uploader_user_id BIGINT,
    assoc_type BIGINT, assoc_id BIGINT);
CREATE TABLE authors (author_id BIGINT, email VARCHAR(90), include_in_browse SMALLINT, publication_id BIGINT, seq REAL,
    user_group_id BIGINT);
CREATE TABLE author_settings (author_setting_id BIGINT, author_id BIGINT, locale VARCHAR(14),
    setting_name VARCHAR(255), setting_value TEXT);
CREATE TABLE controlled_vocabs (controlled_vocab_id BIGINT, symbolic VARCHAR(64), assoc_type BIGINT, assoc_id BIGINT);
CREATE TABLE controlled_vocab_entries (controlled_vocab_entry_id BIGINT, controlled_vocab_id BIGINT, seq REAL);
CREATE TABLE controlled_vocab_entry_settings (controlled_vocab_entry_id BIGINT, locale VARCHAR(14),
    setting_name VARCHAR(255), setting_value TEXT, setting_type VARCHAR(6));
CREATE TABLE files (file_id BIGINT, path VARCHAR(255), mimetype VARCHAR(255));
"""


def journal(number: int, path: str, enabled: int = 1, **settings: str) -> str:
    """Insert a journal of OJS with its settings."""
    rows = [
        insert("journal_settings", journal_id=number, locale="", setting_name=name, setting_value=value)
        for name, value in settings.items()
    ]
    return insert("journals", journal_id=number, path=path, enabled=enabled) + "".join(rows)


def issue(number: int, access: int = 1, published: int = 1, opens: str | None = None) -> str:
    """Insert an issue of OJS; its number begins with the journal's."""
    row = {"issue_id": number, "journal_id": number // 10, "published": published, "access_status": access}
    return insert("issues", **row, open_access_date=opens)


def article(
    number: int, issue: int, *, status: int = 3, publication: int = 3, access: int = 0, path: str | None = ""
) -> str:
    """Insert an article of OJS, whose number begins with the journal's; a current publication of it, and a galley."""
    current = number * 10
    row = {"submission_id": number, "context_id": number // 100, "status": status, "current_publication_id": current}
    return (
        insert("submissions", **row, locale="en")
        + setting_of(current, "title", f"Article {number}")
        + version(current, number, issue, status=publication, access=access, path=path)
        + galley(current, current)
    )


def version(
    number: int, submission: int, issue: int, *, status: int = 3, access: int | None = None, path: str | None = None
) -> str:
    """Insert a publication of an article."""
    row: Row = {"publication_id": number, "submission_id": submission, "status": status, "access_status": access}
    when: Row = {"last_modified": "2025-07-01 12:00:00", "date_published": "2025-06-30"}
    edited = insert("publications", **row, url_path=path, **when)
    setting: Row = {"publication_id": number, "locale": "", "setting_name": "issueId", "setting_value": str(issue)}
    return edited + insert("publication_settings", **setting)


def setting_of(publication: int, name: str, value: str, locale: str = "en") -> str:
    """Insert a setting of a publication."""
    row: Row = {"publication_id": publication, "locale": locale, "setting_name": name, "setting_value": value}
    return insert("publication_settings", **row)


def author(number: int, publication: int, place: int, **names: str) -> str:
    """Insert an author of a publication with the names in English."""
    rows = [
        insert("author_settings", author_id=number, locale="en", setting_name=name, setting_value=value)
        for name, value in names.items()
    ]
    return insert("authors", author_id=number, publication_id=publication, seq=place, email="zq@x") + "".join(rows)


def keyword(number: int, publication: int, text: str, symbolic: str = "submissionKeyword") -> str:
    """Insert a keyword of a publication."""
    of: Row = {"assoc_type": 0x010000C, "assoc_id": publication}
    value: Row = {"locale": "en", "setting_name": symbolic, "setting_value": text}
    return (
        insert("controlled_vocabs", controlled_vocab_id=number, symbolic=symbolic, **of)
        + insert("controlled_vocab_entries", controlled_vocab_entry_id=number, controlled_vocab_id=number, seq=1)
        + insert("controlled_vocab_entry_settings", controlled_vocab_entry_id=number, **value)
    )


def galley(
    number: int,
    publication: int,
    path: str = "",
    *,
    stage: int = 10,
    kind: str = "application/pdf",
    elsewhere: str = "",
) -> str:
    """Insert a galley of a publication with its file."""
    row = {"galley_id": number, "publication_id": publication, "submission_file_id": number + 1}
    file = {"submission_file_id": number + 1, "file_id": number + 2, "file_stage": stage}
    return (
        insert("publication_galleys", **row, url_path=path, remote_url=elsewhere)
        + insert("submission_files", **file, updated_at="2025-01-01 00:30:00")
        + insert("files", file_id=number + 2, path="x", mimetype=kind)
    )


OJS_ROWS = "".join(
    [
        journal(1, "Coins", publishingMode="0", restrictSiteAccess="0", restrictArticleAccess="", name="Coin News"),
        journal(2, "maps", publishingMode="1"),
        journal(3, "disabled", enabled=0, publishingMode="0"),
        journal(4, "paper-only", publishingMode="2"),
        journal(5, "members", publishingMode="0", restrictSiteAccess="1"),
        journal(6, "readers", restrictArticleAccess="1"),
        issue(11),
        issue(12, published=0),
        article(101, issue=11, path="penny"),
        setting_of(1010, "title", "Pfennig", "de_DE"),
        setting_of(1010, "prefix", "The"),
        setting_of(1010, "subtitle", "1 < 2"),
        setting_of(1010, "abstract", "<p>On pennies.</p>"),
        setting_of(1010, "pub-id::doi", "10.5072/penny", ""),
        setting_of(1001, "title", "The first version"),
        author(2, 1010, 1, givenName="Jo", familyName="O'Neill"),
        author(1, 1010, 0, givenName="Plato"),
        author(3, 1001, 0, givenName="Former"),
        keyword(1, 1010, "mint"),
        keyword(2, 1010, "zqagency", symbolic="submissionAgency"),
        galley(5, 1010, path="html", kind="text/html"),
        galley(15, 1010, stage=2, path="manuscript"),
        galley(25, 1010, elsewhere="https://elsewhere.example/"),
        version(1001, 101, issue=11, path="farthing"),
        galley(35, 1001, path="first-version"),
        article(102, issue=11, status=1),
        article(103, issue=12),
        article(104, issue=11, status=5, publication=5),
        article(105, issue=11, publication=1),
        article(106, issue=11, status=4),
        article(107, issue=24),
        article(108, issue=19),
        issue(21, access=2),
        issue(22, access=2, opens="2020-01-01 00:00:00"),
        issue(23, access=2, opens="2999-01-01 00:00:00"),
        issue(24),
        article(201, issue=21),
        article(202, issue=21, access=1),
        article(203, issue=22),
        article(204, issue=23),
        article(205, issue=24),
        *(issue(number * 10 + 1) + article(number * 100 + 1, issue=number * 10 + 1) for number in (3, 4, 5, 6)),
    ]
)

_EDITED = datetime(2025, 7, 1, 10, tzinfo=UTC)  # noon in Berlin
_UPDATED = datetime(2024, 12, 31, 23, 30, tzinfo=UTC)


def page(path: str, of: str, item: str = "") -> QueryRow:
    """Return the page of an article, whose number is in the path unless it is given."""
    uri = f"https://journals.example/index.php/{path}"
    return QueryRow(uri=uri, lastmod=_EDITED, type="text/html", set=of, item=item or path[-3:])


def download(path: str, of: str, item: str, kind: str = "application/pdf") -> QueryRow:
    """Return the file of a galley."""
    return QueryRow(uri=f"https://journals.example/index.php/{path}", lastmod=_UPDATED, type=kind, set=of, item=item)


PUBLIC_ARTICLES = [
    download("Coins/article/download/penny/1010", "coins", "101"),
    download("Coins/article/download/penny/html", "coins", "101", "text/html"),
    page("Coins/article/view/penny", "coins", "101"),
    download("maps/article/download/202/2020", "maps", "202"),
    download("maps/article/download/203/2030", "maps", "203"),
    download("maps/article/download/205/2050", "maps", "205"),
    page("maps/article/view/201", "maps"),
    page("maps/article/view/202", "maps"),
    page("maps/article/view/203", "maps"),
    page("maps/article/view/204", "maps"),
    page("maps/article/view/205", "maps"),
    page("readers/article/view/601", "readers"),
]

#: The values of the articles that may be seen, in the order of the statement.
ARTICLES_METADATA = {
    "101": [
        ("dc.creator", "Plato", ""),
        ("dc.creator", "O'Neill, Jo", ""),
        ("dc.date", "2025-06-30", ""),
        ("dc.description", "On pennies.", "en"),
        ("dc.identifier.doi", "10.5072/penny", ""),
        ("dc.language", "en", ""),
        ("dc.source", "Coin News", ""),
        ("dc.subject", "mint", "en"),
        ("dc.title", "Pfennig", "de_DE"),
        ("dc.title", "The Article 101: 1 < 2", "en"),
    ],
    **{
        str(number): [
            ("dc.date", "2025-06-30", ""),
            ("dc.language", "en", ""),
            ("dc.title", f"Article {number}", "en"),
        ]
        for number in (201, 202, 203, 204, 205, 601)
    },
}

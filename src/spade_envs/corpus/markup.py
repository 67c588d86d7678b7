"""Titles and plain text out of Markdown, reStructuredText and HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_ATX = re.compile(r"^ {0,3}#{1,6}[ \t]+(\S[^\n]{0,300}?)[ \t#]*$")
_RULE = re.compile(r"^([=\-~^\"'*+#<>:.`_])\1{2,}[ \t]*$")
_BLANKS = re.compile(r"[ \t\r\f\v]+")
_TITLE_LINES = 80
_MAX_TITLE_CHARS = 120
_IN_VAIN_CHARS, _IN_VAIN = 1 << 20, 4
"""Characters, or times a page's length, that are searched for the ends of tags that have none."""

_SILENT = frozenset({"script", "style", "noscript", "template", "svg", "head", "nav"})
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "dd", "div", "dl", "dt", "figcaption"}
    | {"figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "li", "main"}
    | {"ol", "p", "pre", "section", "table", "td", "th", "tr", "ul"}
)


def text_title(text: str, fallback: str) -> str:
    """Return the first Markdown or reStructuredText heading near the top, else `fallback`."""
    lines = text[:20_000].split("\n")[:_TITLE_LINES]
    for index, line in enumerate(lines):
        heading = _ATX.match(line)
        if heading:
            return heading[1][:_MAX_TITLE_CHARS]
        if index and _RULE.match(line):
            above = lines[index - 1].strip()
            if above and not _RULE.match(above) and len(line.strip()) >= min(len(above), 3):
                return above[:_MAX_TITLE_CHARS]
    return fallback[:_MAX_TITLE_CHARS]


def html_text(markup: str, fallback: str) -> tuple[str, str]:
    """Return (title, text) of an HTML page: scripts, styles and navigation left out.

    Block elements are set apart by a blank line; `pre` keeps its white space. Broken markup never
    raises, and costs no more than its length: of a page with tag upon tag that never ends, the rest
    is taken as it is.
    """
    page = _Page()
    try:
        page.feed(markup)
        page.close()
    except _Endless as found:
        page.pieces.append(page.rawdata[found.place :].replace("<", " "))
    lines = "".join(page.pieces).split("\n")
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)).strip()
    title = _BLANKS.sub(" ", "".join(page.title).replace("\n", " ")).strip()
    return (title or text_title(text, fallback))[:_MAX_TITLE_CHARS], text


class _Endless(Exception):
    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._in_vain = 0
        self.pieces: list[str] = []
        self.title: list[str] = []
        self._silent: list[str] = []
        self._in_title = False
        self._pre = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = True
        elif tag in _SILENT:
            self._silent.append(tag)
        elif tag == "body":
            self._silent.clear()  # a head that was never closed ends here
        if tag in _BLOCKS:
            self.pieces.append("\n\n")
        elif tag == "br":
            self.pieces.append("\n")
        self._pre += tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in self._silent:
            while self._silent.pop() != tag:
                pass
        if tag in _BLOCKS:
            self.pieces.append("\n\n")
        self._pre = max(0, self._pre - (tag == "pre"))

    def handle_data(self, data: str) -> None:
        if self._in_title and not self._only_in_body():
            self.title.append(data)
        elif not self._silent:
            self.pieces.append(data if self._pre else _BLANKS.sub(" ", data.replace("\n", " ")))

    def parse_starttag(self, i: int) -> int:
        return self._bounded(i, super().parse_starttag(i))

    def parse_endtag(self, i: int) -> int:
        return self._bounded(i, super().parse_endtag(i))

    def parse_comment(self, i: int, report: bool = True) -> int:
        return self._bounded(i, super().parse_comment(i, report))

    def parse_html_declaration(self, i: int) -> int:
        return self._bounded(i, super().parse_html_declaration(i))

    def parse_pi(self, i: int) -> int:
        return self._bounded(i, super().parse_pi(i))

    def _bounded(self, i: int, end: int) -> int:
        """Return where something ends, -1 if nowhere; each of these was looked for to the end."""
        if end < 0:
            self._in_vain += len(self.rawdata) - i
            if self._in_vain > max(_IN_VAIN_CHARS, _IN_VAIN * len(self.rawdata)):
                raise _Endless(i)
        return end

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Take a section of an unknown kind, such as `<![x[`, for a comment, as browsers do."""
        try:
            return super().parse_marked_section(i, report)
        except AssertionError:  # Python's own word for it, where it does not do so itself
            return self.parse_bogus_comment(i)

    def _only_in_body(self) -> bool:
        return bool(self._silent) and self._silent[-1] == "svg"

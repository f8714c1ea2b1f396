import base64
from email.message import EmailMessage
from pathlib import Path

import pytest

from rag.loaders.eml import read_mbox, read_mhtml
from rag.loaders.errors import BrokenFile, LoadError
from rag.loaders.formats import load
from rag.records import ExtractedText
from tests.rag.loaders.pdf_files import locked_pdf, pdf


def _read(data: bytes, tmp_path: Path) -> ExtractedText:
    path = tmp_path / "stem.eml"
    path.write_bytes(data)
    return load(path)


def _word(text: str, charset: str = "utf-8", label: str = "") -> str:
    content = base64.b64encode(text.encode(charset)).decode("ascii")
    return f"=?{label or charset}?B?{content}?="


def _plain(body: bytes, *headers: str) -> bytes:
    return "\r\n".join((*headers, "MIME-Version: 1.0", "", "")).encode("ascii") + body


def _message(subject: str = "Plan") -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = subject
    message["From"] = "Kim <kim@example.org>"
    message["To"] = "lee@example.org"
    return message


def test_headers_and_text_with_what_is_quoted(tmp_path: Path) -> None:
    message = _message("회의 일정")
    message["Date"] = "Mon, 02 Mar 2026 09:12:00 +0900"
    message.set_content("네, 좋습니다.\n\n> 3시에 볼까요?\n")

    document = _read(message.as_bytes(), tmp_path)

    assert document.title == "회의 일정"
    assert document.media_type == "message/rfc822"
    assert document.text == (
        "회의 일정\n\nFrom: Kim <kim@example.org>\nTo: lee@example.org\n"
        "Date: Mon, 02 Mar 2026 09:12:00 +0900 (2026-03-02)\n\n네, 좋습니다.\n\n> 3시에 볼까요?"
    )
    assert [s.heading for s in document.sections] == [("회의 일정",)]


@pytest.mark.parametrize(
    ("charset", "label"),
    [
        ("euc_kr", "euc-kr"),
        ("cp949", "ks_c_5601-1987"),
        ("cp949", "us-ascii"),
        ("cp949", "no-such-code"),
        ("utf-8", "euc-kr"),
        ("iso2022_kr", "iso-2022-kr"),
        ("iso2022_kr", "us-ascii"),
        ("utf-16", "utf-16"),
    ],
)
def test_each_part_has_its_own_encoding(charset: str, label: str, tmp_path: Path) -> None:
    text = "나비는 60그램입니다. 새 주소는 은하구입니다."
    body = base64.b64encode(text.encode(charset))
    kind = f"Content-Type: text/plain; charset={label}"

    document = _read(_plain(body, kind, "Content-Transfer-Encoding: base64"), tmp_path)

    assert document.text == text


@pytest.mark.parametrize(
    ("raw", "subject"),
    [
        (_word("회의 자료"), "회의 자료"),
        (_word("회의 자료", "cp949", "ks_c_5601-1987"), "회의 자료"),
        (f"Re: {_word('회의')}\r\n {_word('자료')} end", "Re: 회의자료 end"),
        (
            f"=?utf-8?B?{base64.b64encode('가나'.encode()[:4]).decode()}?= "
            f"=?utf-8?B?{base64.b64encode('가나'.encode()[4:]).decode()}?=",
            "가나",
        ),
        ("=?utf-8?Q?two words=2E?=", "two words."),
        (_word("잘린 제목")[:-2], "잘린 제목"),
        ("=?utf-8?B?7ZqM7J2Y?x", "=?utf-8?B?7ZqM7J2Y?x"),
        ("=?no-such?B?7ZqM7J2Y?=", "회의"),
        ("=?utf-8*ko?Q?=ED=9A=8C=EC=9D=98?=", "회의"),
    ],
)
def test_encoded_words_also_broken_ones(raw: str, subject: str, tmp_path: Path) -> None:
    assert _read(_plain(b"text", f"Subject: {raw}"), tmp_path).title == subject


@pytest.mark.parametrize("charset", ["utf-8", "cp949", "iso2022_kr"])
def test_headers_sent_as_bytes(charset: str, tmp_path: Path) -> None:
    data = "Subject: 회의 자료를 보냅니다\r\n\r\ntext".encode(charset)

    assert _read(data, tmp_path).title == "회의 자료를 보냅니다"


@pytest.mark.parametrize(
    "header",
    [
        "Date: someday",
        "From: <<>@",
        "To: =?",
        "Content-Type: ;;;",
        "Date: 99 Foo 99999 1:2",
        "Content-Type: multipart/mixed",
        "Content-Transfer-Encoding: odd",
        "X: \x00",
    ],
)
def test_broken_headers_stop_nothing(header: str, tmp_path: Path) -> None:
    assert "the words" in _read(_plain(b"the words\n" * 20, header), tmp_path).text


def test_of_alternatives_the_plain_text_is_read(tmp_path: Path) -> None:
    message = _message()
    message.set_content("The plain words.")
    message.add_alternative("<p>The <b>other</b> words.</p>", subtype="html")

    text = _read(message.as_bytes(), tmp_path).text

    assert "The plain words." in text
    assert "other" not in text


@pytest.mark.parametrize("stub", ["", "This message needs a mail program that shows HTML."])
def test_html_is_read_where_the_plain_text_says_nothing(stub: str, tmp_path: Path) -> None:
    message = _message()
    message.set_content(stub)
    paragraphs = "<p>팥빵은 오늘 3500원입니다.</p>" * 12
    message.add_alternative(f"<style>.zq{{}}</style>{paragraphs}", subtype="html")

    text = _read(message.as_bytes(), tmp_path).text

    assert "팥빵은 오늘 3500원입니다." in text
    assert "zq" not in text


def test_attachments_are_sections_and_those_not_read_are_named(tmp_path: Path) -> None:
    message = _message()
    message.set_content("See the files.")
    message.add_attachment(
        "도시,요금\n섬마을,7300원\n".encode("cp949"),
        maintype="text",
        subtype="csv",
        filename="요금표.csv",
    )
    message.add_attachment(
        pdf([["inside the pdf"]]), maintype="application", subtype="pdf", filename="a.pdf"
    )
    message.add_attachment(
        locked_pdf(), maintype="application", subtype="pdf", filename="locked.pdf"
    )
    message.add_attachment(b"MZ", maintype="application", subtype="octet-stream", filename="x.exe")

    document = _read(message.as_bytes(), tmp_path)

    assert document.text.endswith(
        "요금표.csv\n\n도시: 섬마을 | 요금: 7300원\n\na.pdf\n\ninside the pdf"
    )
    assert [s.heading for s in document.sections] == [
        ("Plan",),
        ("Plan", "요금표.csv"),
        ("Plan", "a.pdf"),
    ]
    assert document.warnings[-1] == "attachments not read: locked.pdf, x.exe"


def test_sections_of_an_attachment_keep_their_places(tmp_path: Path) -> None:
    message = _message()
    message.set_content("See.")
    message.add_attachment(
        b"before\n\n# One\n\ntext\n", maintype="text", subtype="markdown", filename="n.md"
    )

    document = _read(message.as_bytes(), tmp_path)

    last = document.sections[-1]
    assert last.heading == ("Plan", "n.md", "One")
    assert document.text[last.start :].startswith("# One")


def test_a_forwarded_message_is_read_and_a_long_chain_ends(tmp_path: Path) -> None:
    inner = _message("innermost")
    inner.set_content("the core")
    for number in range(5):
        outer = _message(f"forward {number}")
        outer.set_content(f"words {number}")
        outer.add_attachment(inner)
        inner = outer

    document = _read(inner.as_bytes(), tmp_path)

    assert "words 4" in document.text
    assert "words 1" in document.text
    assert "the core" not in document.text
    assert "more than 3 messages inside each other" in document.warnings[0]


def test_pictures_of_the_page_and_signatures_are_no_attachments(tmp_path: Path) -> None:
    message = _message()
    message.set_content("<p>Hello <img src='cid:a'></p>", subtype="html")
    message.add_related(b"\x89PNG", maintype="image", subtype="png", cid="<a>", filename="logo.png")

    assert _read(message.as_bytes(), tmp_path).warnings == ()


def test_an_encrypted_message_says_so(tmp_path: Path) -> None:
    data = _plain(
        b"xx", 'Content-Type: application/pkcs7-mime; smime-type=enveloped-data; name="smime.p7m"'
    )

    with pytest.raises(BrokenFile, match="the message is encrypted"):
        _read(data, tmp_path)


def test_what_is_no_message_says_so(tmp_path: Path) -> None:
    with pytest.raises(BrokenFile, match="damaged or no message"):
        _read(b"\x00\x01 words", tmp_path)


def _refuse(_: bytes, __: str) -> ExtractedText:
    raise LoadError("no")


def test_a_box_holds_a_section_for_each_message() -> None:
    one = "From a@example.org Mon Mar  2 09:12:00 2026\nSubject: One\n\nFirst.\n\n>From here on\n\n"
    two = "From b@example.org Mon Mar  2 09:13:00 2026\nSubject: Two\n\nFrom time to time.\n"

    document = read_mbox((one + two).encode(), "box", read_file=_refuse)

    assert document.title == "box"
    assert document.media_type == "application/mbox"
    assert [s.heading for s in document.sections] == [("One",), ("Two",)]
    assert "First.\n\nFrom here on" in document.text
    assert document.text.endswith("From time to time.")


def test_a_box_without_messages_says_so() -> None:
    with pytest.raises(BrokenFile, match="holds no messages"):
        read_mbox(b"words", "box", read_file=_refuse)


def test_a_saved_page_is_read_as_a_page() -> None:
    message = EmailMessage()
    message["Subject"] = "Saved"
    message.set_content("<h1>빵집</h1><p>8시에 엽니다.</p>", subtype="html", charset="euc-kr")
    message.add_related(b"body{}", maintype="text", subtype="css")

    document = read_mhtml(message.as_bytes(), "stem")

    assert document.title == "빵집"
    assert document.text == "빵집\n\n8시에 엽니다."
    assert document.media_type == "multipart/related"


def test_parts_without_end_are_no_crash(tmp_path: Path) -> None:
    parts = (f'Content-Type: multipart/mixed; boundary="b{n}"\n\n--b{n}\n' for n in range(2000))

    with pytest.raises(BrokenFile, match="nested too deep"):
        _read("".join(parts).encode("ascii"), tmp_path)

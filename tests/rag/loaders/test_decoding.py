import codecs
import random

import pytest

from rag.loaders.decoding import decode
from rag.loaders.errors import BrokenFile

KOREAN = "새 주소는 은하구 별빛로 27입니다. '똠방각하'와 '쀍쓰네' 옆입니다.\n"
WESTERN = "Größe und Übermut, Straße für Ärger: „schön“ – 5 € für ein Café…\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (KOREAN, "cp949"),
        ("짧다", "cp949"),
        ("ㅋㅋㅋ 안녕", "cp949"),
        ("○ 10μm ─────── 두께", "cp949"),
        (WESTERN, "cp1252"),
        ("café", "cp1252"),
        ("naïve Noël", "cp1252"),
        ("5 °C ± 2", "cp1252"),
        ("吾輩は猫である。名前はまだ無い。どこで生れたか頓と見当がつかぬ。", "cp932"),
        ("Съешь ещё этих мягких французских булок, да выпей чаю.", "cp1251"),
        ("我能吞下玻璃而不伤身体。今天的天气很好,我们去公园散步吧。", "gb18030"),
        ("Zażółć gęślą jaźń. W Szczebrzeszynie chrząszcz brzmi w trzcinie.", "cp1250"),
        (KOREAN, "utf-16-le"),
        (KOREAN, "utf-16-be"),
        (WESTERN, "utf-16-le"),
        ("plain English, with spaces", "utf-16-be"),
        (KOREAN, "utf-32-le"),
        ("도서관은월요일에쉰다", "utf-16-le"),
        ("도서관은월요일에쉰다", "utf-16-be"),
        (KOREAN, "johab"),
        ("짧다", "johab"),
        ("새 주소는 은하구 별빛로 27입니다.\n", "iso2022_kr"),
        ("吾輩は猫である。", "iso2022_jp_2"),
    ],
)
def test_the_encoding_is_found_and_reported(text: str, encoding: str) -> None:
    decoded = decode(text.encode(encoding))

    assert decoded.text == text
    assert decoded.encoding == encoding
    assert decoded.warnings == (f"read as {encoding}",)


@pytest.mark.parametrize("text", [KOREAN, WESTERN, "plain", "나비 ☕ €3"])
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_utf8_is_nothing_to_report(text: str, mark: bytes) -> None:
    decoded = decode(mark + text.encode())

    assert decoded.text == text
    assert decoded.warnings == ()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_byte_order_mark_decides(encoding: str) -> None:
    decoded = decode("메모 memo".encode(encoding))

    assert decoded.text == "메모 memo"
    assert decoded.warnings == (f"read as {encoding}",)


def test_the_encoding_of_the_machine_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("locale.getpreferredencoding", lambda *_: "cp949")

    assert decode("나비는 60그램 ☕ €3".encode()).text == "나비는 60그램 ☕ €3"


def test_a_declared_encoding_counts_where_the_bytes_allow_it() -> None:
    cyrillic = "Привет, мир"

    assert decode(cyrillic.encode("koi8_r"), declared="koi8-r").text == cyrillic
    assert decode(cyrillic.encode(), declared="koi8-r").text == cyrillic
    assert decode(KOREAN.encode("cp949"), declared="euc-kr").text == KOREAN
    assert decode(KOREAN.encode("cp949"), declared="no-such-code").text == KOREAN


@pytest.mark.parametrize("encoding", ["utf-8", "cp949"])
def test_a_file_cut_off_in_a_letter_says_so(encoding: str) -> None:
    decoded = decode((KOREAN.strip() + "가").encode(encoding)[:-1])

    assert decoded.encoding == encoding
    assert decoded.text.strip() == KOREAN.strip()
    assert decoded.warnings[-1] == "1 unreadable character"
    assert "\ufffd" not in decoded.text


def test_control_characters_become_spaces_and_are_counted() -> None:
    decoded = decode(b"K\x0021 " + b"word " * 100 + b"\x1b[0m\ttab\r\nend\rlast\x0cpage")

    assert decoded.text.startswith("K 21 word")
    assert decoded.text.endswith(" [0m\ttab\nend\nlast\npage")
    assert decoded.warnings == ("2 unreadable characters",)


def test_text_is_composed_and_loses_what_nobody_sees() -> None:
    assert decode("\ufeff각 e\u0301 co\u00adop \u2028다".encode()).text == "각 é coop \n다"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n" + b"x" * 50, "a PNG picture"),
        (b"\xff\xd8\xff\xe0" + b"x" * 50, "a JPEG picture"),
        (b"PK\x03\x04" + b"x" * 50, "a ZIP archive or an Office document"),
        (b"%PDF-1.7 text", "a PDF"),
        (b"{\\rtf1 text}", "an RTF document"),
    ],
)
def test_another_format_under_a_text_name_is_named(data: bytes, kind: str) -> None:
    with pytest.raises(BrokenFile, match=f"the file is {kind}, not text"):
        decode(data)


@pytest.mark.parametrize(
    "data", [bytes(100), random.Random(7).randbytes(5000), b"\x01\x02\x03 a", b"hello\0world"]
)
def test_binary_data_is_no_text(data: bytes) -> None:
    with pytest.raises(BrokenFile, match=r"binary data, not text: of its first \d+ bytes \d+"):
        decode(data)


def test_a_mark_that_lies_is_refused() -> None:
    with pytest.raises(BrokenFile, match="begins like utf-16 text"):
        decode(codecs.BOM_UTF16_LE + b"\x00\xd8" * 40)


def test_bytes_of_no_encoding_are_refused() -> None:
    with pytest.raises(BrokenFile, match="save it as UTF-8"):
        decode(b"a\x81\x8d\x8f\x90\x9d" * 3)


def test_syllables_that_ks_x_1001_spells_are_whole() -> None:
    spelled = b"\xa4\xd4\xa4\xa8\xa4\xc7\xa4\xb1"  # filler, three letters

    text = decode("이름은 ".encode("euc_kr") + spelled + "각하입니다".encode("euc_kr")).text

    assert text == "이름은 똠각하입니다"


@pytest.mark.parametrize("label", ["ks_c_5601-1987", "KSC5601", "windows-949", "x-windows-949"])
def test_labels_of_korean_mail_are_known(label: str) -> None:
    assert decode("쀍 a".encode("cp949"), declared=label).encoding == "cp949"


def test_seven_bits_that_lack_their_announcement_are_read_by_the_label() -> None:
    data = "휴관 안내".encode("iso2022_kr").removeprefix(b"\x1b$)C").lstrip(b"\n")

    assert decode(data, declared="iso-2022-kr").text == "휴관 안내"


def test_terminal_colours_are_no_encoding() -> None:
    assert decode(b"word \x1b[32mgreen " * 3).encoding == "utf-8"

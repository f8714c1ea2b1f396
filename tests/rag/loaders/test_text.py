from rag.loaders.text import read_text


def test_text_stays_as_it_is() -> None:
    document = read_text("첫 줄  \r\n\n  둘째 줄\n".encode("cp949"), "메모")

    assert document.text == "첫 줄  \n\n  둘째 줄\n"
    assert document.title == "메모"
    assert document.media_type == "text/plain"
    assert document.warnings == ("read as cp949",)
    assert not document.sections
    assert not document.pages

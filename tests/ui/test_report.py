"""What the Map and report tab shows of a report, without a browser."""

import json
import re

import pytest
from markupsafe import Markup

from index.records import StoredDocument
from rag.records import (
    ClusterChange,
    Comparison,
    Remark,
    Report,
    ReportCluster,
    ReportPoint,
    ReportTheme,
)
from tests.ui.records import HOSTILE, document
from tests.ui.test_render import shown
from ui import groups
from ui.locale import Texts, texts

EN, KO = texts("en"), texts("ko")


def cluster(members: list[StoredDocument], **more: object) -> ReportCluster:
    fields = {"size": len(members), "share_pct": 100.0} | more
    return ReportCluster(
        1, "pump, flow", ("pump", "flow"), ("It moves.",), tuple(members), **fields  # type: ignore[arg-type]
    )  # fmt: skip


def a_report(*clusters: ReportCluster, documents: int = 9, **more: object) -> Report:
    return Report(
        documents, 0, clusters, {"silhouette": 0.214}, (), None, **more  # type: ignore[arg-type]
    )  # fmt: skip


def whole(made: Report | None, words: Texts) -> Markup:
    return groups.page(made, words) + groups.cards(made, words)


def dots(n: int) -> tuple[ReportPoint, ...]:
    return tuple(ReportPoint(i, None, 1, i / 10, -i / 10, f"Title {i}") for i in range(n))


def test_a_report_shows_groups_words_and_documents() -> None:
    remarks = (Remark("fewer", {"wanted": 5, "n": 1}), Remark("waiting", {"n": 3}))
    made = a_report(cluster([document()]), remarks=remarks)
    text = shown(whole(made, EN))
    assert "9 documents in 1 group · Separation 0.21, from −1 to 1" in text
    assert "You asked for 5 groups, the library gives 1." in text
    assert "아직 벡터가 없는 문서 3건은 빠져 있습니다." in shown(whole(made, KO))
    assert "pump, flow1 documentpumpflowIt moves.Pump manual" in text


def test_a_large_group_can_be_unfolded() -> None:
    small = whole(a_report(cluster([document(key) for key in range(8)])), EN)
    large = whole(a_report(cluster([document(key) for key in range(9)])), EN)
    assert "data-more" not in small
    assert "Show all 9" in large


def test_no_report_and_an_empty_one() -> None:
    assert EN("report.empty.title") in whole(None, EN)
    assert EN("report.nothing.title") in whole(a_report(documents=0), EN)


@pytest.mark.parametrize("n", [0, 2, 3, 500])
def test_a_map_needs_three_dots_and_draws_each(n: int) -> None:
    markup = whole(a_report(cluster([document()]), points=dots(n)), EN)
    assert ("m-map" in markup) is (n > 2)
    if n > 2:
        assert markup.count("h0") == n
        packed = re.search(r'data-dots="([^"]*)"', markup)
        assert packed is not None
        read = json.loads(packed[1].replace("&#34;", '"'))
        assert [dot[4] for dot in read] == [f"Title {i}" for i in range(n)]
        assert all(0 <= dot[0] <= 1000 and 0 <= dot[1] <= 560 for dot in read)
        assert 'data-pick="1"' in markup


def test_outliers_themes_times_and_changes_are_told() -> None:
    changed = (
        ClusterChange("grown", 1, 1, "pump, flow", "pump", 3, 2, 2),
        ClusterChange("gone", None, 2, "sea", "sea", 0, 4, 0),
    )
    made = a_report(
        cluster([document()], over_time=(1, 0, 2)),
        points=dots(3),
        outliers=(document(7),),
        unclustered_pct=10.0,
        themes=(ReportTheme(1, "water", ("water",), (1, 2), 3, 90.0),),
        period="month",
        periods=("2025-01-01", "2025-02-01", "2025-03-01"),
        comparison=Comparison(6, 3, 4, changed),
    )
    text = shown(whole(made, EN))
    assert "90.0 % · groups 1, 2" in text
    assert "2025-01-01 to 2025-03-01" in text
    assert "3 documents were added, 4 removed." in text
    assert "grown pump, flow 2 → 3" in text
    assert "gone sea 4 → 0" in text


def test_a_group_opens_to_its_documents_and_what_they_say() -> None:
    made = a_report(cluster([document(5), document(6)]), outliers=(document(7, title="Alone"),))
    said = {5: "Nothing of it. The pump keeps an even flow all day.", 6: "", 7: "Elsewhere."}
    text = shown(groups.detail(made, 1, said.__getitem__, EN))
    assert "1 · pump, flow" in text
    assert "The pump keeps an even flow all day." in text
    assert "Nothing of it" not in text
    assert "Alone" in shown(groups.detail(made, 0, said.__getitem__, EN))
    assert groups.detail(made, 9, said.__getitem__, EN) == ""


def test_a_very_large_group_says_how_many_more_there_are() -> None:
    made = a_report(cluster([document(key) for key in range(45)]))
    assert "15" in shown(groups.detail(made, 1, lambda _: "", KO))


def test_nothing_hostile_gets_through() -> None:
    evil = document(title=HOSTILE, path=f"/a/{HOSTILE}")
    group = ReportCluster(1, HOSTILE, (HOSTILE,), (HOSTILE,), (evil,))
    points = tuple(ReportPoint(i, None, 1, i, i, HOSTILE) for i in range(3))
    made = Report(1, 0, (group,), {}, (HOSTILE,), None, points=points)
    for markup in (
        whole(made, EN),
        groups.detail(made, 1, lambda _: f"{HOSTILE} goes on and on.", EN),
    ):
        assert "<script" not in markup
        assert HOSTILE in shown(markup)

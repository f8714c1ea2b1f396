"""Words that say nothing about what a text is about, in English and Korean.

`ENGLISH` is for BM25. Leaving these out is not neutral in a small or mixed library: one English
page among Korean ones would make "the" a rare and therefore a decisive word, and in ten chunks a
question's "what is" outweighs its subject. `ENGLISH_WIDE` and `KOREAN` add what must not count as
overlap of content either, though a search may be after it ("before", "없", "같").
"""

_ENGLISH = """
    a an and are as at be been being but by can could did do does for from had has have how i if in
    into is it its me my no nor not of on or our s shall should so such t than that the their them
    then there these they this those to was we were what when where which who whom whose why
    will with would you your
"""
_ENGLISH_WIDE = """
    about above across after again against all also although always am among another any anyone
    anything around because become before behind below between both call cannot come don don't each
    either else even ever every everyone everything few find first get give go he her here hers him
    his however just know last least less let like made make many may might mine more most much must
    near need neither never next none now often once one only other others ours out over own per
    please rather really same see several she show since some someone something still take tell
    theirs thing though through thus too toward under until up upon us use used using very via want
    way well whether while within without yes yet yours
"""
# As Kiwi writes them: verbs and adjectives by their stem.
_KOREAN = """
    것 거 수 때 등 때문 데 점 바 뿐 만 중 간 측 번 채 줄 터 듯 대로 만큼
    정도 경우 관련 해당 이상 이하 이후 이전 내용 부분 다음 가지 개 명 년 월 일 시 분 원 회 조 항 호
    하 되 있 없 같 않 이르 대하 관하 위하 통하 따르 의하 인하 말하 보 주 받 들 가 오 알 알리
    모르 어떠하 어떻 그렇 이렇 그러하 이러하 아니 무엇 어디 언제 누구 얼마 왜
"""

ENGLISH = frozenset(_ENGLISH.split())
ENGLISH_WIDE = ENGLISH | frozenset(_ENGLISH_WIDE.split())
KOREAN = frozenset(_KOREAN.split())

"""How people ask for what is not a look-up, in English and Korean: patterns of whole messages."""

import re
from collections.abc import Mapping
from typing import Literal

from rag.periods import ENGLISH, KOREAN


def _whole(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{pattern})\s*[.!?~]*", re.IGNORECASE)


_POLITE = (
    r"(?:(?:please|kindly|ok(?:ay)?|hi|hello|hey)[,!]? )*"
    r"(?:(?:can|could|would|will) you (?:please )?|i(?:'d| would)? (?:like|want"
    r"|need) (?:you to )?)?"
    r"(?:please )?"
)
_TAIL = r"(?: for me)?(?:,? (?:briefly|in short|quickly))?(?:,? please)?(?:,? thanks?)?"
_GIVE = r"(?:(?:give|write|make|show|get|provide|prepare|create)(?: me| us)? )"
_KO_DO = (  # to do something for somebody, as a request
    r"(?:해\s?(?:줘|줘요|주세요|주십시오|줄래요?|주실래요|봐|줄 수 있(?:어|나|니|을까)요?"
    r"|주시겠어요)?"
    r"|하라|하시오|하세요|하기|(?:좀\s?)?부탁(?:해|해요|합니다|드려요|드립니다)?|좀)"
)
_KO_TELL = r"(?:보여|알려|말해|나열해|뽑아)\s?(?:줘|줘요|주세요|줄래요?|주십시오)"
_KO_BE = r"(?:있어|있어요|있니|있나|있나요|있습니까|있지|있죠|있는지|있음)"

MANNERS: Mapping[Literal["greeting", "thanks", "farewell", "self"], re.Pattern[str]] = {
    "greeting": _whole(
        r"(?:hi|hello|hey|greetings|good (?:morning|afternoon|evening|day)|how are you)"
        r"(?:,? (?:there|attest|again|everyone|how are you))*"
        r"|안녕(?:하세요|하십니까|하신가요)?|반가워요?|반갑습니다|좋은 아침(?:입니다"
        r"|이에요)?|하이|헬로"
    ),
    "thanks": _whole(
        r"(?:(?:ok(?:ay)?|great|perfect|good|nice|cool)[,!.]? )?(?:many )?"
        r"(?:thanks|thank you|thx|cheers)(?:[,!.]? (?:a lot|so much|very much|again|attest"
        r"|that helps"
        r"|that's (?:all|it|great)))*|(?:정말 |매우 |너무 )?(?:고마워요?|고맙습니다"
        r"|감사합니다|감사해요)"
        r"|수고(?:하세요|하셨습니다|했어요?)?|땡큐"
    ),
    "farewell": _whole(
        r"(?:good ?bye|bye(?: ?bye)?|see you(?: later| soon| tomorrow)?|good night)"
        r"|잘 가요?|안녕히 (?:계세요|가세요)|다음에 봐요?|나중에 봐요?|바이"
    ),
    "self": _whole(
        r"(?:who|what) are you|what can you do(?: for me)?|what do you do|how (?:do you"
        r"|can you) work"
        r"|how can you help(?: me)?|help|(?:너는?|넌|당신은) (?:누구(?:야|니|세요|예요"
        r"|인가요)?|뭐야)"
        r"|누구세요|(?:너는? |넌 )?(?:뭘|무엇을|뭐) ?할 수 있(?:어|니|나요|어요|습니까)"
        r"|도움말|도와줘"
    ),
}

_NOUN = r"(?P<noun>(?:(?:pdf|docx|hwpx?|xlsx|csv|html) )?(?:documents|files|docs)|pdfs?|sources)"
_HERE = (
    r"(?: (?:do you have|have you(?: got)?|are there|are (?:here|indexed|stored|loaded|available)"
    r"|do i have|have i (?:added|uploaded|loaded)|can you (?:read|see|access|search)"
    r"|do you (?:know|hold|contain)|does (?:the|this|my) (?:library|collection) (?:have|hold"
    r"|contain)))"
)
_IN = r"(?: (?:here|in total|now|in (?:the|this|my|your|our) (?:library|collection|index|folder)))*"
_KO_NOUN = r"(?P<noun>(?:(?:pdf|docx|hwpx?|xlsx|csv|html)\s?)?(?:문서|파일|자료)|pdf)(?:들)?"
_KO_IN = r"(?:(?:여기|지금|현재|이 문서함|문서함|라이브러리)(?:에는?|엔)? )?"

COUNTS = (
    _whole(rf"(?:and )?how many {_NOUN}(?:{_HERE}|(?: are)?){_IN}"),
    _whole(rf"(?:the )?(?:number|count) of {_NOUN}{_IN}"),
    _whole(
        rf"{_KO_IN}{_KO_NOUN}(?:은|는|이|가)?\s?(?:모두|전부|총|다|지금)?\s?몇\s?(?:개|건|편|권)"
        rf"(?:나|이나)?\s?(?:{_KO_BE}|야|이야|예요|이에요|인가요|입니까|인지|니)?(?: {_KO_TELL})?"
    ),
    _whole(
        rf"{_KO_IN}{_KO_NOUN}\s?(?:수|개수|건수)(?:는|은|가|를)?(?: ?(?:얼마야|몇이야|{_KO_TELL}))?"
    ),
)
LISTS = (
    _whole(r"what do you have(?: here| for me| in (?:the|this|my|your) (?:library|collection))?"),
    _whole(r"what(?:'s| is) (?:here|in (?:the|this|my|your|our) (?:library|collection))"),
    _whole(rf"(?:what|which)(?: kinds? of)? {_NOUN}{_HERE}{_IN}"),
    _whole(
        rf"{_POLITE}(?:list|show|name)(?: me)?(?: all)?(?: of)?(?: the| my| your| our)? {_NOUN}"
        rf"(?:{_HERE}| you have| i have)?{_IN}{_TAIL}"
    ),
    _whole(rf"{_KO_IN}(?:어떤|무슨) {_KO_NOUN}(?:이|가)?\s?{_KO_BE}(?: {_KO_TELL})?"),
    _whole(rf"{_KO_IN}(?:뭐가|뭐|무엇이|뭘|무엇을)\s?(?:{_KO_BE}|가지고 {_KO_BE}|갖고 {_KO_BE})"),
    _whole(
        rf"{_KO_IN}(?:모든 |전체 |내 )?{_KO_NOUN}(?:의)?\s?(?:목록|리스트|전체|모두)(?:을|를)?"
        rf"(?: ?(?:좀 )?{_KO_TELL})?"
    ),
)

_EN_DATED_NOUN = (
    r"(?P<noun>(?<!\d )minutes|notes|reports?|documents?|docs|files?|memos?|e-?mails?|letters?"
    r"|invoices?|newsletters?|presentations?|slides)"
)
_KO_DATED_NOUN = (
    r"(?P<noun>(?:회의록|보고서|문서|파일|자료|메모|이메일|메일|편지|청구서|공지|공문|일지|노트)"
    r"들?)"
)
_NOT_LITTLE = r"(?!(?:is|are|was|were|did|does|do|has|have|the|a|an|to|of|in|on|and|or|we|i|my)\b)"
DATED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # last month's product board minutes; the 2023 reports
        rf"(?P<bound>)\b(?P<period>{ENGLISH})(?:['’]s)? "
        rf"(?:{_NOT_LITTLE}[\w-]+ ){{0,3}}{_EN_DATED_NOUN}\b",
        # minutes of the board from last month; reports since March
        rf"\b{_EN_DATED_NOUN}(?: (?:of|on|about"
        rf"|by) (?:the )?{_NOT_LITTLE}[\w-]+(?: {_NOT_LITTLE}[\w-]+)?)?"
        r" (?P<bound>from|of|in|since|after|before|until|up to|for|on|dated) (?:the )?"
        rf"(?P<period>{ENGLISH})(?!\s*['’]s)",
        # documents that were added this week, files changed since March
        rf"\b{_EN_DATED_NOUN} (?:that |which )?(?:were |was |are )?"
        r"(?:added|changed|modified|written|created|made|dated)"
        rf"(?: (?P<bound>from|in|since|after|before|until|on))? (?P<period>{ENGLISH})",
        # 지난달 회의록, 2025년 4월 영업 회의록, 3월 이후에 추가한 문서
        rf"(?P<period>{KOREAN})\s?(?P<bound>부터|이후|이래|이전|까지)?(?:의|에|에는|로)?\s?"
        r"(?:(?:올린|추가한|추가된|만든|작성한|작성된|수정한|수정된|받은|쓴|저장한|바뀐|나온)\s)?"
        rf"(?:[\w가-힣-]+\s){{0,2}}?(?:[가-힣]{{0,4}}){_KO_DATED_NOUN}",
    )
)
# What may stand around documents of some days where they are all that is asked for.
LISTED_BEFORE = re.compile(
    rf"(?:{_POLITE}(?:list|show|find|give|get)(?: me)? |(?:which|what) )?"
    r"(?:all )?(?:of )?(?:the |my |our )?",
    re.IGNORECASE,
)
LISTED_BEHIND = re.compile(
    rf"(?:은|는|을|를|이|가)?(?: ?(?:목록|리스트)(?:을|를)?)?(?: ?(?:뭐가|무엇이) ?)?"
    rf"(?: ?(?:모두 |다 |좀 )?(?:{_KO_BE}|{_KO_TELL}|찾아 ?(?:줘|주세요)))?{_TAIL}\s*[.!?~]*",
    re.IGNORECASE,
)

_LONG = r"(?:(?:short|brief|quick|concise|one-paragraph|executive|high-level) )*"
_WORD = r"(?:summary|overview|synopsis|recap)"
SUMMARIES: tuple[tuple[re.Pattern[str], bool], ...] = tuple(
    (_whole(pattern), only_title)
    for pattern, only_title in (
        (rf"{_POLITE}(?:briefly |quickly )?(?:summari[sz]e|sum up)(?P<of> .+?)?{_TAIL}", False),
        (rf"{_POLITE}{_GIVE}(?:a |an |the )?{_LONG}{_WORD}(?: (?:of|on|about"
         rf"|for) (?P<of>.+?))?{_TAIL}",
         False),
        (rf"(?:please )?(?:a |an )?{_LONG}{_WORD}(?: (?:of|on|about) (?P<of>.+?))?{_TAIL}", False),
        (rf"(?:{_POLITE}{_GIVE})?(?:the )?tl;?dr(?: (?:of|for) (?P<of>.+?))?{_TAIL}", False),
        (rf"{_POLITE}{_GIVE}(?:the )?(?:key|main) points(?: of (?P<of>.+?))?{_TAIL}", False),
        (r"what(?:'s| is) [“\"'‘](?P<of>[^”\"’]+)[”\"'’] about", True),
        (r"[‘“\"'「『](?P<of>[^’”\"」』]+)[’”\"'」』]에 대해(?:서)? ?(?:알려|설명해"
         r"|말해) ?(?:줘요?|주세요)",
         True),
        (r"(?P<of>.*?)\s?(?:좀 |간단히 |간단하게 |간략히 |간략하게 |짧게 |핵심만 )*"
         rf"(?:요약|간추려|줄거리)(?:본|문)?(?:을|를)?\s?(?:{_KO_DO}|{_KO_TELL}|만들어\s?(?:줘요?|주세요)"
         r"|(?<=간추려) ?(?:줘요?|주세요))?",
         False),
        (r"(?P<of>.*?(?:문서|내용|회의록|보고서|파일|자료|이거|이것))(?:을|를)?\s?"
         rf"(?:좀 |간단히 |간략히 |짧게 )*정리{_KO_DO}", False),
    )
)  # fmt: skip

THIS = re.compile(
    r"(?:this|that|these|those)(?: [\w-]+)?|it|them|above|selection"
    r"|(?:current|attached|selected|above|following)? ?(?:document|file|page|text|article"
    r"|doc|pdf)s?"
    r"|(?:이|그|위|해당|현재|이번|선택한|첨부한?)?\s?(?:문서|글|파일|자료|내용|거|것|본문|페이지)(?:들)?",
    re.IGNORECASE,
)
EVERYTHING = re.compile(
    r"everything(?: (?:here|you have|i have))?|all(?: of)?(?: (?:it|them|the|my|your|our|these))?"
    r"(?: (?:documents|files|docs))?(?: (?:here|you have))?"
    r"|(?:my |your |our )?(?:whole |entire )?(?:library|collection|documents|files|docs)"
    r"|(?:전체|모든|전부|모두|내)\s?(?:문서|자료|파일|내용|문서함|라이브러리)?(?:들)?(?:\s?(?:전체|전부|모두|다))?"
    r"|(?:문서|자료|파일)(?:들)?\s?(?:전체|전부|모두|다)|문서함|라이브러리",
    re.IGNORECASE,
)
FOLDER = re.compile(
    r"(?:the )?(?P<name>[^\s/\\].*?)\s?(?:folder|directory|폴더|디렉터리|디렉토리)"
    r"|(?:folder|directory)\s(?P<behind>\S.*)",
    re.IGNORECASE,
)

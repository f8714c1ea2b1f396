"""What generated contracts say: facts in several wordings, and what only sounds like them.

Wordings are in two halves. Thresholds are fitted on one; figures come from the other, whose
sentences, labels and decoys nothing was fitted to.
"""

from dataclasses import dataclass
from typing import Literal

Half = Literal["fit", "judge"]
Language = Literal["en", "ko"]


@dataclass(frozen=True, slots=True)
class Wordings:
    """How one half of the contracts words a fact; `{}` is where its value stands."""

    plain: tuple[str, ...]  # with the words that a question would use
    otherwise: tuple[str, ...]  # without them
    decoys: tuple[str, ...]  # on the same subject, and no answer
    label: str  # of its line in a form


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a contract may say or leave out."""

    name: str
    question: str
    heading: str  # of its section
    values: tuple[str, ...]
    fit: Wordings
    judge: Wordings

    def worded(self, half: Half) -> Wordings:
        return self.fit if half == "fit" else self.judge


ENGLISH = (
    Fact(
        "notice",
        "What is the notice period for ending the contract?",
        "Termination",
        ("30 days", "60 days", "three months", "six weeks", "90 days", "one month"),
        Wordings(
            (
                "Either party may end this agreement with a notice period of {}.",
                "The notice period for termination is {}.",
            ),
            ("Each side is free to walk away after telling the other {} ahead.",),
            ("Notices under this agreement are sent to the addresses stated above.",),
            "Notice period",
        ),
        Wordings(
            (
                "This contract may be terminated by either party on {} written notice.",
                "A party that wishes to end the contract gives notice of {}.",
            ),
            ("If one of us wants out, the other has to hear of it {} before.",),
            (
                "Any notice must be in writing and signed by an authorised person.",
                "Either party may terminate at once if the other becomes insolvent.",
            ),
            "Notice to terminate",
        ),
    ),
    Fact(
        "start",
        "When does the contract begin?",
        "Commencement",
        ("1 March 2024", "15 May 2023", "1 January 2025", "10 October 2022", "1 July 2024"),
        Wordings(
            ("The contract begins on {}.", "This agreement commences on {}."),
            ("Work is taken up for the first time on {}.",),
            ("The contract is made in two copies, one for each party.",),
            "Start of contract",
        ),
        Wordings(
            ("This agreement takes effect on {}.", "The contract starts on {}."),
            ("From {} onwards the parties are bound by what follows.",),
            ("Nothing was agreed between the parties before this document was signed.",),
            "Effective date",
        ),
    ),
    Fact(
        "price",
        "What fee is to be paid?",
        "Fees",
        (
            "EUR 4,200 a month",
            "USD 18,500",
            "GBP 950 a day",
            "EUR 72,000 a year",
            "USD 310 an hour",
        ),
        Wordings(
            ("The fee is {}.", "The client pays a fee of {}."),
            ("For all of this the supplier receives {}.",),
            ("Fees do not include travel expenses, which are claimed separately.",),
            "Fee",
        ),
        Wordings(
            ("A fee of {} is payable for the services.", "The agreed price amounts to {}."),
            ("In return the provider is remunerated with {}.",),
            (
                "The fee may be reviewed once a year by agreement of both parties.",
                "All amounts are exclusive of value added tax.",
            ),
            "Price",
        ),
    ),
    Fact(
        "payment",
        "Within how many days must invoices be paid?",
        "Invoicing",
        ("14 days", "30 days", "45 days", "ten days", "21 days"),
        Wordings(
            ("Invoices are paid within {} of receipt.", "Each invoice falls due after {}."),
            ("Money owed is transferred no later than {} after the bill arrives.",),
            ("Invoices are issued at the end of each month.",),
            "Payment of invoices",
        ),
        Wordings(
            ("The customer pays every invoice within {}.", "Invoices are payable in {} net."),
            ("Bills are settled {} after they come in at the latest.",),
            (
                "Every invoice states the order number and the hours worked.",
                "An objection to an invoice is raised without delay.",
            ),
            "Payment terms",
        ),
    ),
    Fact(
        "law",
        "Which law governs the contract?",
        "Applicable law",
        ("English law", "German law", "the laws of Ireland", "Swiss law", "the law of New York"),
        Wordings(
            ("This agreement is governed by {}.", "The contract is subject to {}."),
            ("Whatever is not regulated here follows from {}.",),
            ("The parties observe the laws and rules that apply to their business.",),
            "Governing law",
        ),
        Wordings(
            ("{} governs this contract.", "This contract shall be construed under {}."),
            ("Where a judge has to decide, {} is to be used.",),
            (
                "If a clause is unlawful, the others stay in force.",
                "The supplier complies with data protection law.",
            ),
            "Applicable law",
        ),
    ),
    Fact(
        "liability",
        "What is the limit of liability?",
        "Liability",
        ("EUR 100,000", "GBP 2 million", "twice the annual fee", "USD 250,000", "EUR 50,000"),
        Wordings(
            (
                "Liability is limited to {}.",
                "The supplier's total liability does not exceed {}.",
            ),
            ("Whoever causes damage makes good at most {}.",),
            ("The supplier is liable for its staff as for itself.",),
            "Limit of liability",
        ),
        Wordings(
            ("The liability of either party is capped at {}.", "The limit of liability is {}."),
            ("Compensation, whatever the ground, ends at {}.",),
            (
                "Neither party is liable for events beyond its control.",
                "Nothing in this contract excludes liability for fraud.",
            ),
            "Liability cap",
        ),
    ),
    Fact(
        "secrecy",
        "How long does confidentiality last after the contract ends?",
        "Confidentiality",
        ("two years", "five years", "36 months", "three years", "12 months"),
        Wordings(
            (
                "The duty of confidentiality lasts for {} after the contract ends.",
                "Confidentiality survives the end of this agreement by {}.",
            ),
            ("For another {} nobody tells outsiders what was learned here.",),
            ("The parties keep each other's trade secrets.",),
            "Confidentiality after the end",
        ),
        Wordings(
            (
                "Confidential information stays confidential for {} after termination.",
                "The obligations of confidentiality continue for {} once the contract is over.",
            ),
            ("Secrets remain secrets for {} when the work is done.",),
            (
                "Confidential information is returned or destroyed on request.",
                "Information that is public is not confidential.",
            ),
            "Secrecy period",
        ),
    ),
    Fact(
        "renewal",
        "Is the contract renewed automatically, and for how long?",
        "Renewal",
        ("12 months", "one year", "two years", "six months"),
        Wordings(
            (
                "The contract is renewed automatically for {} unless a party objects.",
                "Unless ended, this agreement renews itself by {}.",
            ),
            ("If nobody speaks up in time, everything goes on for another {}.",),
            ("Changes to this agreement have to be made in writing.",),
            "Renewal",
        ),
        Wordings(
            (
                "There is an automatic renewal for {} at the end of each term.",
                "The contract extends automatically by {}.",
            ),
            ("Silence of both sides keeps things running {} more.",),
            (
                "The parties may agree on new terms at any time.",
                "Amendments are valid only when both parties have signed them.",
            ),
            "Automatic extension",
        ),
    ),
    Fact(
        "interest",
        "What interest is charged on late payment?",
        "Late payment",
        ("8 % a year", "1.5 % a month", "5 % above the base rate", "4 % a year"),
        Wordings(
            ("Late payment bears interest at {}.", "Interest on late payments is {}."),
            ("Whoever is behind with money owes {} on top.",),
            ("Late deliveries are announced as early as possible.",),
            "Interest on late payment",
        ),
        Wordings(
            ("On overdue amounts interest of {} is charged.", "Default interest is set at {}."),
            ("Sums that arrive after their day grow by {}.",),
            (
                "The supplier may suspend the services while payment is late.",
                "Payment is made by bank transfer to the account on the invoice.",
            ),
            "Default interest",
        ),
    ),
    Fact(
        "insurance",
        "What insurance cover is required?",
        "Insurance",
        ("EUR 5 million", "GBP 1 million", "USD 3 million", "EUR 500,000"),
        Wordings(
            (
                "The supplier holds liability insurance with a cover of {}.",
                "Insurance cover of at least {} is required.",
            ),
            ("Against damage to others the supplier keeps a policy worth {}.",),
            ("The supplier brings its own tools and keeps them in order.",),
            "Insurance cover",
        ),
        Wordings(
            (
                "Professional indemnity insurance of {} must be maintained.",
                "The provider is insured for {} per event.",
            ),
            ("An underwriter must stand behind the provider with {}.",),
            (
                "The provider tells the client of any accident at once.",
                "Risk passes to the customer on delivery.",
            ),
            "Insured sum",
        ),
    ),
)

KOREAN = (
    Fact(
        "notice",
        "계약을 해지하려면 며칠 전에 통지해야 하나요?",
        "계약의 해지",
        ("30일", "60일", "3개월", "6주", "90일"),
        Wordings(
            (
                "어느 당사자든 {} 전에 서면으로 통지하고 계약을 해지할 수 있다.",
                "해지 통지 기간은 {}로 한다.",
            ),
            ("그만두려는 쪽은 늦어도 {} 앞서 상대에게 뜻을 밝힌다.",),
            ("통지는 계약서에 적힌 주소로 한다.",),
            "해지 통지 기간",
        ),
        Wordings(
            (
                "본 계약은 {} 전 사전 통지로 해지할 수 있다.",
                "계약을 해지하고자 하는 자는 {} 전까지 상대방에게 통지하여야 한다.",
            ),
            ("관계를 끝내고 싶으면 {} 먼저 알린다.",),
            (
                "모든 통지는 서면으로 하며 책임자가 서명한다.",
                "상대방이 파산한 때에는 즉시 계약을 해지할 수 있다.",
            ),
            "사전 통지",
        ),
    ),
    Fact(
        "start",
        "계약은 언제 시작되나요?",
        "계약 기간",
        ("2024년 3월 1일", "2023년 5월 15일", "2025년 1월 1일", "2022년 10월 10일"),
        Wordings(
            ("계약은 {}에 시작된다.", "계약 기간은 {}부터로 한다."),
            ("{}에 처음으로 일을 맡는다.",),
            ("계약서는 두 부를 작성하여 한 부씩 보관한다.",),
            "계약 시작일",
        ),
        Wordings(
            ("본 계약의 효력은 {}에 발생한다.", "계약 개시일은 {}이다."),
            ("{}부터 양측은 아래 내용에 따른다.",),
            ("서명 전에 양측이 합의한 다른 사항은 없다.",),
            "효력 발생일",
        ),
    ),
    Fact(
        "price",
        "계약 금액은 얼마인가요?",
        "대금",
        ("월 420만 원", "총 1억 2천만 원", "일당 35만 원", "연 7,200만 원"),
        Wordings(
            ("계약 금액은 {}으로 한다.", "갑은 을에게 대금으로 {}을 지급한다."),
            ("을은 이 모든 일의 대가로 {}을 받는다.",),
            ("출장비는 대금에 포함되지 않으며 따로 청구한다.",),
            "계약 금액",
        ),
        Wordings(
            ("용역 대금은 {}이다.", "본 계약의 금액은 {}으로 정한다."),
            ("수행자에게는 {}이 돌아간다.",),
            (
                "금액은 해마다 한 번 양측이 협의하여 조정할 수 있다.",
                "모든 금액에는 부가가치세가 포함되지 않는다.",
            ),
            "대금",
        ),
    ),
    Fact(
        "payment",
        "청구서는 며칠 안에 지급해야 하나요?",
        "청구와 지급",
        ("14일", "30일", "45일", "10일", "21일"),
        Wordings(
            ("청구서를 받은 날부터 {} 이내에 지급한다.", "청구 금액의 지급 기한은 {}이다."),
            ("돈은 계산서가 온 뒤 늦어도 {} 만에 보낸다.",),
            ("청구서는 매월 말에 발행한다.",),
            "청구서 지급 기한",
        ),
        Wordings(
            (
                "발주자는 청구일로부터 {} 안에 대금을 지급하여야 한다.",
                "모든 청구서는 {} 내 지급한다.",
            ),
            ("계산은 {} 안에 끝낸다.",),
            (
                "청구서에는 주문 번호와 작업 시간을 적는다.",
                "청구 내용에 이의가 있으면 바로 알린다.",
            ),
            "지급 조건",
        ),
    ),
    Fact(
        "court",
        "분쟁이 생기면 어느 법원이 관할하나요?",
        "관할",
        ("서울중앙지방법원", "부산지방법원", "수원지방법원", "대전지방법원"),
        Wordings(
            ("분쟁의 관할 법원은 {}으로 한다.", "소송은 {}을 관할로 한다."),
            ("다툼이 있으면 {}에서 가린다.",),
            ("당사자는 관련 법령을 지킨다.",),
            "관할 법원",
        ),
        Wordings(
            (
                "본 계약에 관한 분쟁은 {}의 관할에 따른다.",
                "{}을 제1심 관할 법원으로 정한다.",
            ),
            ("말로 풀리지 않으면 {}에 판단을 맡긴다.",),
            (
                "분쟁이 생기면 먼저 서로 협의한다.",
                "한 조항이 무효가 되어도 나머지는 유효하다.",
            ),
            "합의 관할",
        ),
    ),
    Fact(
        "liability",
        "손해배상 한도는 얼마인가요?",
        "손해배상",
        ("1억 원", "계약 금액의 두 배", "5천만 원", "3억 원"),
        Wordings(
            ("손해배상 한도는 {}으로 한다.", "을의 배상 책임은 {}을 넘지 않는다."),
            ("잘못한 쪽이 물어 줄 돈은 많아야 {}이다.",),
            ("을은 직원의 잘못도 자신의 잘못으로 책임진다.",),
            "배상 한도",
        ),
        Wordings(
            ("손해배상액은 최대 {}으로 제한한다.", "각 당사자의 배상 책임 한도는 {}이다."),
            ("어떤 까닭으로든 메워 줄 몫은 {}에서 그친다.",),
            (
                "천재지변으로 생긴 손해는 배상하지 않는다.",
                "고의로 끼친 손해의 책임은 면하지 못한다.",
            ),
            "책임 제한",
        ),
    ),
    Fact(
        "secrecy",
        "계약이 끝난 뒤 비밀 유지 의무는 얼마나 계속되나요?",
        "비밀 유지",
        ("2년", "5년", "36개월", "3년"),
        Wordings(
            (
                "비밀 유지 의무는 계약 종료 후 {} 동안 계속된다.",
                "비밀은 계약이 끝난 뒤에도 {}간 지킨다.",
            ),
            ("일이 끝나고도 {} 동안은 알게 된 것을 밖에 말하지 않는다.",),
            ("당사자는 서로의 영업 비밀을 지킨다.",),
            "종료 후 비밀 유지",
        ),
        Wordings(
            (
                "계약 종료 후에도 {}간 비밀유지의무를 부담한다.",
                "비밀 정보는 계약이 만료된 날부터 {} 동안 누설하지 아니한다.",
            ),
            ("헤어진 뒤 {}이 지날 때까지 입을 다문다.",),
            (
                "비밀 정보는 요청이 있으면 돌려주거나 폐기한다.",
                "이미 공개된 정보는 비밀로 보지 않는다.",
            ),
            "비밀유지 기간",
        ),
    ),
    Fact(
        "interest",
        "대금을 늦게 내면 지연 이자는 얼마인가요?",
        "지연 이자",
        ("연 8%", "월 1.5%", "연 12%", "연 6%"),
        Wordings(
            ("지연 이자는 {}로 한다.", "대금 지급이 늦으면 {}의 지연 이자를 더한다."),
            ("제때 보내지 않은 돈에는 {}가 붙는다.",),
            ("납품이 늦어질 때에는 미리 알린다.",),
            "지연 이자",
        ),
        Wordings(
            ("연체 금액에는 {}의 연체 이자를 부과한다.", "지급을 지체하면 {}의 이자를 가산한다."),
            ("기한을 넘긴 돈은 {}씩 불어난다.",),
            (
                "대금이 늦어지는 동안 작업을 멈출 수 있다.",
                "대금은 청구서에 적힌 계좌로 보낸다.",
            ),
            "연체 이율",
        ),
    ),
)

# What every contract is filled up with, of both halves.
FILLING = {
    "en": (
        "The parties work together in good faith.",
        "The client gives access to the premises during office hours.",
        "Each party names one person who speaks for it.",
        "Work results are handed over in a form that can be edited.",
        "The supplier may use subcontractors with the client's consent.",
        "Meetings are held every second week, by telephone where that is enough.",
        "Neither party may assign its rights without the consent of the other.",
        "Documents are kept in the language in which they were written.",
        "The client tests what is delivered and reports defects.",
        "Staff of the supplier follow the safety rules of the site.",
    ),
    "ko": (
        "당사자는 신의에 따라 협력한다.",
        "갑은 업무 시간에 시설을 이용하게 한다.",
        "각 당사자는 담당자 한 사람을 정한다.",
        "결과물은 고칠 수 있는 파일로 넘긴다.",
        "을은 갑의 동의를 얻어 하도급을 줄 수 있다.",
        "회의는 격주로 하며 전화로 갈음할 수 있다.",
        "당사자는 동의 없이 권리를 넘길 수 없다.",
        "갑은 납품된 것을 검사하고 흠을 알린다.",
        "을의 직원은 현장 안전 수칙을 따른다.",
    ),
}

NAMES = {
    "en": ("Halden Print", "Orrin & Vale", "Cobalt Works", "Marsh Lane Studio", "Pell Logistics",
           "Tarn Software", "Brook & Sons", "Quill Media", "Aster Foods", "Northgate Labs"),
    "ko": ("한빛인쇄", "가람물류", "새결소프트", "도담식품", "온누리미디어", "미르건설",
           "다온연구소", "해솔디자인"),
}  # fmt: skip
KINDS = {
    "en": ("Service agreement", "Lease of office space", "Supply contract", "Consulting agreement",
           "Maintenance contract"),
    "ko": ("용역 계약서", "사무실 임대차 계약서", "물품 공급 계약서", "자문 계약서",
           "유지보수 계약서"),
}  # fmt: skip

"""What people say to a search tool that is no question of their documents, and a short reply."""

_HELLO = "Hello. Ask me something about your documents."
_THANKS = "You are welcome."
_BYE = "Goodbye."
_WHO = "I answer questions from your documents and quote the sentence that each answer rests on."
_HELP = (
    "Ask a question about your documents. I quote the sentence that answers it, or say that none "
    "does."
)
_FINE = "I am ready. Ask me something about your documents."

CHATS: tuple[tuple[str, str], ...] = (
    *((said, _HELLO) for said in (
        "Hello", "Hello!", "Hi", "Hi there", "Hi!", "Hey", "Hey there!", "Good morning",
        "Good morning!", "Good afternoon", "Good evening.", "Hello, assistant", "Greetings",
        "hello", "hi", "hey", "Hello again", "Hi, I'm new here.", "Hello everyone",
    )),
    *((said, _THANKS) for said in (
        "Thanks", "Thanks!", "Thank you", "Thank you!", "Thank you very much.", "Many thanks",
        "thanks a lot", "thank you so much", "Great, thanks.", "Perfect, thank you!", "Cheers",
        "That helps, thanks.", "That is what I needed, thank you.", "Nice work", "Well done!",
        "ok thanks", "Very helpful, thank you.",
    )),
    *((said, _BYE) for said in (
        "Bye", "Goodbye", "Goodbye!", "See you", "See you later", "bye", "Have a nice day",
        "Good night", "That is all for today.",
    )),
    *((said, _WHO) for said in (
        "Who are you?", "What are you?", "What is your name?", "Are you a person?",
        "Are you a robot?", "Tell me about yourself.", "who are you",
    )),
    *((said, _HELP) for said in (
        "Help", "Can you help me?", "How does this work?", "What can you do?",
        "What can I ask you?", "How do I use this?", "help me", "What do you do?",
    )),
    *((said, _FINE) for said in (
        "How are you?", "How are you today?", "How is it going?", "Are you there?", "Test",
        "Is this working?", "Ready?",
    )),
)  # fmt: skip

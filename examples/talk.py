"""What a user says in the examples, one thing after another."""

RULE = "From May on, new projects run on one consumer GPU."
TALK = [
    RULE,
    "My sourdough is too flat. Should I use more water or wait longer?",
    "It rose! Now which tea goes well with a rye bread?",
    "Can you find me a train from Lyon to Geneva on Friday evening?",
    "The one at seven is fine, by the window if possible.",
    "My sister asks what to plant on a balcony that gets no sun.",
    "Ferns it is. How often do they want water in August?",
    "Remind me to call the dentist about the crown next week.",
]
QUESTION = "Which hardware may a new project use?"

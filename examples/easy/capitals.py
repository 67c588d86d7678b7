import re

from spade_envs.api import TextEnv, answer_of

KNOWN = (
    "France=Paris Germany=Berlin Italy=Rome Spain=Madrid England=London Russia=Moscow "
    "China=Beijing Japan=Tokyo Egypt=Cairo Greece=Athens Austria=Vienna Portugal=Lisbon"
)
LESS = (
    "Poland=Warsaw Hungary=Budapest Ireland=Dublin Norway=Oslo Sweden=Stockholm Denmark=Copenhagen "
    "Canada=Ottawa Cuba=Havana Iraq=Baghdad Iran=Tehran Kenya=Nairobi Thailand=Bangkok"
)
RARE = (
    "Latvia=Riga Estonia=Tallinn Bulgaria=Sofia Romania=Bucharest Croatia=Zagreb Serbia=Belgrade "
    "Ghana=Accra Senegal=Dakar Jordan=Amman Vietnam=Hanoi Ecuador=Quito Morocco=Rabat"
)
SENTENCE = re.compile(r"the capital(?: city)? of [a-z ]+ is (?:the city of )?([a-z]+)")


class Capitals(TextEnv):
    """Name the capitals of two countries, one after the other.

    An answer is a name alone or one plain sentence. Both right wins; one of them pays a quarter.
    Each level asks for less known countries.
    """

    levels = 3
    max_turns = 2

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        pairs = [pair.split("=") for pair in (KNOWN, LESS, RARE)[self.level].split()]
        self.asked = self.draw_many(pairs, 2)
        self.right = 0
        return self.question(), {}

    def question(self):
        country = self.asked[self.turn][0]
        return f"What is the capital of {country}? Reply with the name of the city alone."

    def step(self, action):
        said = answer_of(action).lower().strip(" .!\n")
        sentence = SENTENCE.fullmatch(said)
        said = sentence.group(1) if sentence else said
        good = said == self.asked[self.turn - 1][1].lower()
        self.right += good
        told = "Right." if good else "No."
        if self.turn < 2:
            return self.go_on(f"{told} {self.question()}")
        if self.right == 2:
            return self.win("Right, both of them.")
        return self.lose(told, reward=self.right / 4)

    def hint(self):
        places = [f"that of {country} begins with {city[0]}" for country, city in self.asked]
        return f"Think of each country's largest or oldest cities: {' and '.join(places)}."

    def solution(self):
        return [city for _, city in self.asked[self.turn :]]

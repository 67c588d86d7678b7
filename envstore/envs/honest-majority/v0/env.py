import re

from spade_envs.api import TextEnv, answer_of

NAMES = (
    "Ada Bruno Cleo Dario Elsa Farid Greta Hugo Ines Jonas Kira Luca Mina Nils Olga Pavel Rosa Sami"
).split()


class HonestMajority(TextEnv):
    """Question the members of a guild and find out who is honest.

    Honest members always tell the truth and are more than half. Liars always lie. At the upper
    levels some are fickle: they take turns telling the truth and lying, and do not say where they
    begin. The questions suffice if each is chosen in view of the answers so far.
    """

    levels = 5
    max_turns = 26

    # members, whether some may be fickle, questions
    plans = ((7, False, 12), (9, False, 9), (9, True, 16), (11, True, 18), (13, True, 20))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        count, fickle, self.questions = self.plans[self.level]
        self.members = self.draw_many(NAMES, count)
        crooked = self.draw_int(2, (count - 1) // 2)
        self.roles = dict.fromkeys(self.members, "honest")
        for name in self.draw_many(self.members, crooked):
            self.roles[name] = self.draw(("liar", "truth next", "lie next")) if fickle else "liar"
        others = "the others always lie"
        if fickle:
            others = (
                "each of the others either always lies or is fickle, which means telling the truth "
                "and lying by turns, beginning with either"
            )
        return (
            f"A guild has {count} members: {', '.join(self.members)}. More than half are honest "
            f"and always tell the truth; {others}. They all know each other. You may ask "
            f"{self.questions} questions, each to one member about another.\n"
            "Each message is one of\n"
            f"  ask {self.members[0]} about {self.members[1]}\n"
            "  the final answer: the names of all honest members, separated by commas, in "
            "\\boxed{}\nYou can answer once."
        ), {}

    def step(self, action):
        text = " ".join(answer_of(action).casefold().split())
        known = {name.casefold(): name for name in self.members}
        question = re.fullmatch(r"ask (\w+) about (\w+)", text)
        if question and question[1] in known and question[2] in known:
            return self.ask(known[question[1]], known[question[2]])
        names = sorted(name.strip() for name in text.split(","))
        if not all(name in known for name in names):
            return self.go_on("I read neither `ask NAME about NAME` nor a list of members' names.")
        if names == [name.casefold() for name in self.honest()]:
            return self.win("Right, those are the honest ones.")
        return self.lose("No, those are not exactly the honest ones.")

    def ask(self, witness, subject):
        """Let `witness` say whether `subject` is honest."""
        if witness == subject:
            return self.go_on("Nobody is asked about themselves.")
        if self.questions == 0:
            return self.go_on("No questions are left. Name the honest members.")
        self.questions -= 1
        role = self.roles[witness]
        truthful = role in ("honest", "truth next")
        if role in ("truth next", "lie next"):
            self.roles[witness] = "lie next" if truthful else "truth next"
        praise = (self.roles[subject] == "honest") == truthful
        verdict = "is honest" if praise else "is not honest"
        return self.go_on(f'{witness}: "{subject} {verdict}." Questions left: {self.questions}.')

    def honest(self):
        """Return the honest members, in alphabetical order."""
        return sorted(name for name in self.members if self.roles[name] == "honest")

    def hint(self):
        return (
            "First find one member who is certainly honest, then ask that one about everybody "
            "else. To find one, build a chain: if X calls Y honest, then X honest implies Y "
            "honest, so add Y to the chain and ask Y next. If X calls Y not honest, at least one "
            "of the two is not, so set both aside; honest members stay the majority of those who "
            "are left. Once a chain is too long for all of it to be dishonest, its last member is "
            "honest."
        )

    def solution(self):
        witness, *others = self.honest()
        asks = [f"ask {witness} about {name}" for name in others[: min(2, self.questions)]]
        return [*asks, f"\\boxed{{{', '.join(self.honest())}}}"]

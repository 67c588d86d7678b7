import functools
import itertools

from spade_envs.api import TextEnv, answer_of

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def shift(word, by):
    """Move every letter `by` places through the alphabet."""
    return "".join(LETTERS[(LETTERS.index(letter) + by) % 26] for letter in word)


def swap_pairs(word):
    """Swap the first letter with the second, the third with the fourth, and so on."""
    pairs = [word[i : i + 2][::-1] for i in range(0, len(word), 2)]
    return "".join(pairs)


OPERATIONS = {
    "reverse the word": lambda word: word[::-1],
    "move the first letter to the end": lambda word: word[1:] + word[:1],
    "move the last two letters to the front": lambda word: word[-2:] + word[:-2],
    "swap neighbours in pairs": swap_pairs,
    "swap the first and the last letter": lambda word: word[-1] + word[1:-1] + word[0],
    "put the letters in alphabetical order": lambda word: "".join(sorted(word)),
    "move every letter one place on in the alphabet": lambda word: shift(word, 1),
    "move every letter two places back in the alphabet": lambda word: shift(word, -2),
    "double the first letter": lambda word: word[0] + word,
    "double the last letter": lambda word: word + word[-1],
    "take the odd-numbered letters first, then the others": lambda word: word[::2] + word[1::2],
    "exchange the two halves": lambda word: word[len(word) // 2 :] + word[: len(word) // 2],
}
CONDITIONS = {
    "the word begins with a vowel": lambda word: word[0] in "aeiou",
    "the word has an even number of letters": lambda word: len(word) % 2 == 0,
    "the first letter comes before the last one in the alphabet": lambda word: word[0] < word[-1],
}


class GlyphMachine(TextEnv):
    """Infer what a machine does to words from examples, and say what it does to the next one.

    The machine chains one to three operations; at the top level a property of the word decides
    which of two chains it takes. Examples are added until every explanation agrees on the answer.
    """

    levels = 5
    max_turns = 3
    chain_lengths = (1, 2, 2, 3, 2)
    word_lengths = ((5, 6), (5, 7), (6, 9), (6, 9), (5, 8))
    first_examples = (3, 3, 2, 2, 6)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        length = self.chain_lengths[self.level]
        self.condition = self.draw(list(CONDITIONS)) if self.level == 4 else None
        self.chain, self.other = (self.draw_many(list(OPERATIONS), length) for _ in range(2))
        self.word = self.draw_word()
        while self.machine(self.word) == self.word:
            self.word = self.draw_word()
        self.examples = [self.draw_word() for _ in range(self.first_examples[self.level])]
        while len(self.possible_answers()) > 1 and len(self.examples) < 16:
            self.examples.append(self.draw_word())
        shown = "\n".join(f"{word} -> {self.machine(word)}" for word in self.examples)
        return (
            "A machine rewrites words, always by the same rule.\n"
            f"{shown}\nWhat does it make of {self.word}? Give the word in \\boxed{{}}."
        ), {}

    def draw_word(self):
        """Draw a nonsense word of consonants and vowels."""
        count = self.draw_int(*self.word_lengths[self.level])
        return "".join(self.draw(LETTERS if i % 2 else "aeioubcdfglmnprst") for i in range(count))

    def machine(self, word):
        """Return what the machine makes of `word`."""
        taken = self.condition is None or CONDITIONS[self.condition](word)
        return run(self.chain if taken else self.other, word)

    def possible_answers(self):
        """Return, sorted, the outputs for the question that some explanation gives."""
        longest = self.chain_lengths[self.level]
        if self.condition is None:
            return agreeing(self.examples, self.machine, self.word, longest)
        outputs = []
        for holds in CONDITIONS.values():
            branches = [[w for w in self.examples if holds(w) is side] for side in (True, False)]
            chains = [agreeing(branch, self.machine, self.word, longest) for branch in branches]
            if all(chains):
                outputs += chains[0] if holds(self.word) else chains[1]
        return sorted(dict.fromkeys(outputs))

    def step(self, action):
        guess = answer_of(action).casefold().rpartition("->")[2].strip()
        if not guess.isalpha():
            return self.go_on("Give one word of letters in \\boxed{}.")
        if guess == self.machine(self.word):
            return self.win("Right, that is what the machine makes of it.")
        return self.lose("No, the machine makes something else of it.")

    def hint(self):
        chain = self.chain
        if self.condition is not None and not CONDITIONS[self.condition](self.word):
            chain = self.other
        used = sorted({chain[0], *self.draw_decoys()})
        text = f"The machine's first operation on this word is one of: {'; '.join(used)}."
        if self.condition is not None:
            text += f" It takes one of two chains, depending on whether {self.condition}."
        return text + f" A chain has {len(chain)} operation(s); test each guess on all examples."

    def draw_decoys(self):
        """Return two operations that are not the first of the chain, without drawing anew."""
        return [name for name in OPERATIONS if name not in self.chain + self.other][:2]

    def solution(self):
        return [f"\\boxed{{{self.machine(self.word)}}}"]


def run(chain, word):
    """Apply the operations of `chain` in order."""
    for name in chain:
        word = OPERATIONS[name](word)
    return word


@functools.lru_cache(maxsize=4)
def all_chains(longest):
    """Return every chain of one to `longest` different operations."""
    lengths = range(1, longest + 1)
    return [c for length in lengths for c in itertools.permutations(OPERATIONS, length)]


def agreeing(examples, machine, word, longest):
    """Return, sorted, what the chains that explain all examples make of `word`."""
    chains = all_chains(longest)
    for example in examples:
        wanted = machine(example)
        chains = [chain for chain in chains if run(chain, example) == wanted]
    return sorted({run(chain, word) for chain in chains})

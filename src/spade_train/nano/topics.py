"""From the text of a passage to what it is about: topics and telling words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_TOPIC_WORDS = {
    "numbers": (
        "number integer float digit decimal arithmetic operand operator sum value fraction bit "
        "division remainder power exponent precision sign zero factor ratio measure quantity"
    ),
    "strings": (
        "string character letter text word format encoding byte literal prefix suffix quote line "
        "token escape unicode alphabet sentence phrase spelling title message"
    ),
    "lists": (
        "list sequence slice index element item tuple array position length range iterator row "
        "column order series stack queue batch"
    ),
    "mappings": (
        "dictionary mapping key entry table record field pair lookup set hash catalogue register "
        "inventory price ledger label"
    ),
    "functions": (
        "function argument parameter call lambda return decorator generator closure callable "
        "method result signature recipe procedure task"
    ),
    "classes": (
        "class instance attribute object descriptor base member metaclass property inheritance "
        "subclass family parent relation kind owner"
    ),
    "control": (
        "loop statement condition branch block iteration expression clause suite test pattern "
        "case assignment guard step stage cycle process"
    ),
    "errors": (
        "exception error handler traceback warning failure assertion signal fault context retry "
        "alarm repair damage risk accident"
    ),
    "names": (
        "name namespace scope variable binding identifier reference keyword global reserved "
        "alias target symbol address person city"
    ),
    "files": (
        "module package file path import directory script interpreter program command debugger "
        "breakpoint frame folder archive library route map place"
    ),
    "types": (
        "type comparison truth boolean equality identity constant annotation protocol memory size "
        "rank weight level grade degree colour"
    ),
}
TOPICS: dict[str, tuple[str, ...]] = {topic: _words(words) for topic, words in _TOPIC_WORDS.items()}
_TOPIC_OF = {word: topic for topic, words in TOPICS.items() for word in words}

GENERAL: tuple[str, ...] = _words(
    "river garden market engine planet harbour letter bridge village doctor farmer crystal signal "
    "planet recipe forest battery teacher student voter bird whale protein enzyme circuit sensor "
    "parcel courier ticket train station valley island glacier mirror magnet lens pigment fabric "
    "loom novel poem violin choir painter museum treaty senate court judge contract coin tax wage "
    "harvest orchard barley bakery kitchen kettle lamp candle window corridor tower castle knight "
    "pilot sailor anchor compass comet orbit galaxy molecule atom crater fossil mammal reptile "
    "insect beetle spider flower seed root leaf branch tunnel canal reservoir pump valve turbine "
    "robot camera radio antenna satellite rocket runner team league match referee trophy chapter "
    "survey patient vaccine clinic muscle nerve neuron gene cell virus fungus mineral metal alloy"
)

_STOP = frozenset(
    _words(
        "about above after again all also although always among and another any are because "
        "been before being below between both but can cannot case could current default "
        "described details different does done each either empty end equal even every example "
        "fact few first following for form from general given has have having here how "
        "however implementation information into its itself last latter left less like made "
        "make many may means more most much must need never new next non none nor not note "
        "now number one only optional other otherwise our out over own particular python "
        "rather right same second section see should simple since single some special "
        "standard still such syntax than that the their them then there these they this those "
        "three through two types under unless until upon use used user using usual usually "
        "version very via was way well were what when where whether which while who whole "
        "whose will with within without would you your class def import lambda return yield "
        "global assert async await break continue del elif else except finally nonlocal pass "
        "raise try true false original corresponding resulting appropriate additional"
    )
) - frozenset(("number", "case", "class", "import", "lambda", "return", "global"))
_AFTER = re.compile(r"\b(?:an?|the|this|each|every|some|its|their|any|one|two)\s+([a-z]{3,12})\b")
_WORD = re.compile(r"[a-z]{3,12}")
_KEYWORDS = 3


def singular(word: str) -> str:
    """Return a plural without its ending, by the plainest rule."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def telling_words(text: str, count: int = _KEYWORDS, *, avoid: Iterable[str] = ()) -> list[str]:
    """Return the `count` words that tell most of a text, in order; fewer if it has fewer.

    Words that stand after an article count, and those of a known topic count three times. Words
    that `avoid` holds come last.
    """
    last = {singular(word) for line in avoid for word in _WORD.findall(line.lower())}
    lower = text.lower()
    counts: Counter[str] = Counter()
    for found in _AFTER.findall(lower):
        counts[singular(found)] += 2
    for found in _WORD.findall(lower):
        word = singular(found)
        if word in counts or word in _TOPIC_OF:
            counts[word] += 1
    scores = {
        word: n * (3 if word in _TOPIC_OF else 1)
        for word, n in counts.items()
        if word not in _STOP and len(word) > 2
    }
    return sorted(scores, key=lambda word: (word in last, -scores[word], word))[:count]


def topics_of(text: str) -> list[str]:
    """Return the two topics that a text is most about; the first two by name if about none."""
    counts: Counter[str] = Counter()
    for found in _WORD.findall(text.lower()):
        topic = _TOPIC_OF.get(singular(found))
        if topic is not None:
            counts[topic] += 1
    return sorted(TOPICS, key=lambda topic: (-counts[topic], topic))[:2]

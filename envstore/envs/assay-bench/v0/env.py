from spade_envs.api import Task, ToolEnv, ToolError, call, calls, finish, tool

METALS = "copper nickel zinc lead tin".split()
# matter that an instrument takes, least and greatest ppm that it reads truly
INSTRUMENTS = {
    "titrator": ("acid", 200, 5000),
    "photometer": ("acid", 1, 60),
    "flame": ("oil", 5, 400),
    "arc": ("powder", 50, 4000),
    "beamline": ("powder", 1, 90),
}


class AssayBench(ToolEnv):
    """Measure metals in unknown samples with instruments that each suit only some of them.

    An instrument outside its range reads its limit without complaint, a wrong kind of matter spoils
    the portion, salt disturbs one of them, and every sample has few portions.
    """

    levels = 4
    max_turns = 40

    # samples, whether dilution is needed, whether salt disturbs, samples to add up
    plans = ((2, False, False, 1), (3, True, False, 2), (4, True, True, 3), (6, True, True, 5))
    portions = 4

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        count, dilution, salt, added = self.plans[self.level]
        self.metal = self.draw(METALS)
        self.state = {"samples": {}}
        for number in self.draw_many(range(100, 1000), count):
            matter = self.draw(("acid", "oil", "powder"))
            fitting = [name for name, card in INSTRUMENTS.items() if card[0] == matter]
            _, low, high = INSTRUMENTS[self.draw(fitting)]
            ppm = self.draw_int(low + 1, high - 1)
            if dilution and matter == "oil" and self.draw((True, False)):
                ppm = self.draw_int(41, 300) * 10  # too strong for the flame unless diluted tenfold
            self.state["samples"][f"S{number}"] = {
                "matter": matter,
                "ppm": ppm,
                "salty": salt and matter == "acid" and self.draw((True, False)),
                "washed": False,
                "diluted": 1,
                "portions": self.portions,
            }
        self.asked = self.draw_many(list(self.state["samples"]), added)
        self.answer = sum(self.state["samples"][name]["ppm"] for name in self.asked)
        self.tasks = [
            Task(
                f"How many ppm of {self.metal} do the samples {', '.join(self.asked)} hold"
                f"{', added up' if added > 1 else ''}?",
                answer=str(self.answer),
            )
        ]
        return self.begin(
            f"You work at a bench with these samples: {', '.join(self.state['samples'])}. Each has "
            f"{self.portions} portions, and every measurement takes one. Instruments: "
            f"{', '.join(INSTRUMENTS)}; each has a card that says what it is good for."
        )

    def sample(self, name):
        """Return the state of a sample that exists."""
        key = name.strip().upper()
        if key not in self.state["samples"]:
            raise ToolError(f"samples: {', '.join(self.state['samples'])}")
        return self.state["samples"][key]

    @tool
    def look(self, sample: str) -> str:
        """Look at a sample: what it is, whether it is salty, how many portions are left.

        Args:
            sample: label of the sample, such as S123.
        """
        s = self.sample(sample)
        looks = {"acid": "a clear sour liquid", "oil": "a thick oil", "powder": "a dry powder"}
        crust = ", with salt crusts at the rim" if s["salty"] and not s["washed"] else ""
        rest = f"diluted {s['diluted']}-fold; {s['portions']} portions left"
        return f"{looks[s['matter']]}{crust}; {rest}"

    @tool
    def instrument_card(self, instrument: str) -> str:
        """Read the card of an instrument.

        Args:
            instrument: name of the instrument.
        """
        if instrument not in INSTRUMENTS:
            raise ToolError(f"instruments: {', '.join(INSTRUMENTS)}")
        matter, low, high = INSTRUMENTS[instrument]
        salt = " Salt raises its reading by a quarter." if instrument == "photometer" else ""
        return (
            f"For {matter} only. True from {low} to {high} ppm; shows {low} below and {high} above."
            + salt
        )

    def measure(self, instrument, sample):
        """Use up a portion and return what an instrument shows."""
        s = self.sample(sample)
        matter, low, high = INSTRUMENTS[instrument]
        if s["portions"] == 0:
            raise ToolError("no portion of that sample is left")
        s["portions"] -= 1
        if s["matter"] != matter:
            raise ToolError(f"the {instrument} cannot take this; the portion is spoilt")
        ppm = s["ppm"] / s["diluted"]
        if instrument == "photometer" and s["salty"] and not s["washed"]:
            ppm *= 1.25
        return f"{min(high, max(low, ppm)):g} ppm"

    @tool
    def titrator(self, sample: str) -> str:
        """Measure a sample with the titrator."""
        return self.measure("titrator", sample)

    @tool
    def photometer(self, sample: str) -> str:
        """Measure a sample with the photometer."""
        return self.measure("photometer", sample)

    @tool
    def flame(self, sample: str) -> str:
        """Measure a sample with the flame."""
        return self.measure("flame", sample)

    @tool
    def arc(self, sample: str) -> str:
        """Measure a sample with the arc."""
        return self.measure("arc", sample)

    @tool
    def beamline(self, sample: str) -> str:
        """Measure a sample with the beamline."""
        return self.measure("beamline", sample)

    @tool
    def dilute(self, sample: str) -> str:
        """Dilute all portions of a liquid sample tenfold, once."""
        s = self.sample(sample)
        if s["matter"] == "powder" or s["diluted"] > 1:
            raise ToolError("only a liquid can be diluted, and only once")
        s["diluted"] = 10
        return "diluted tenfold"

    @tool
    def wash(self, sample: str) -> str:
        """Wash the salt out of a sample."""
        self.sample(sample)["washed"] = True
        return "washed"

    @tool
    def quick_strip(self, sample: str) -> str:
        """Dip a paper strip into a sample: costs no portion, tells only strong from weak."""
        return "strong" if self.sample(sample)["ppm"] > 150 else "weak"

    def choice(self, name):
        """Return the instrument for a sample as it is now, and whether it must be diluted first."""
        s = self.state["samples"][name]
        fitting = [
            (card, tool_name) for tool_name, card in INSTRUMENTS.items() if card[0] == s["matter"]
        ]
        for dilution in (s["diluted"], 10):
            for (_, low, high), tool_name in fitting:
                if low <= s["ppm"] / dilution <= high:
                    return tool_name, dilution > s["diluted"]
        return fitting[0][1], False

    def hint(self):
        ways = []
        for name in self.asked:
            instrument, dilute = self.choice(name)
            ways.append(f"{name}: {'dilute, then ' if dilute else ''}{instrument}")
        return (
            f"Suitable instruments: {'; '.join(ways)}. Wash salty samples before the photometer. A "
            "reading that equals an instrument's limit is not to be trusted; multiply the reading "
            "of a diluted sample by ten; add the samples up at the end."
        )

    def solution(self):
        steps = []
        for name in self.asked:
            instrument, dilute = self.choice(name)
            steps.append(call("look", sample=name))
            steps += [call("wash", sample=name)] if instrument == "photometer" else []
            steps += [call("dilute", sample=name)] if dilute else []
            steps.append(call(instrument, sample=name))
        return [calls(*steps), finish(f"\\boxed{{{self.answer}}}")]

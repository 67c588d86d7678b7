from spade_envs.api import Task, ToolEnv, ToolError, call, calls, finish, tool

TOWNS = "Aldern Brisk Cove Drum Eaton Firth".split()
SURNAMES = (
    "Abel Brandt Castro Diaz Eklund Ferrer Gupta Haas Ito Jensen Kaur Lopez Mori Nagy Olsen Petit "
    "Quist Rossi Sato Toth Umar Vega Weiss Yilmaz"
).split()
PLANTS = "gentian saxifrage campion sedge orchid fern".split()


class HerbariumIndex(ToolEnv):
    """Answer a question about a plant collection by following its card index page by page.

    Collectors are filed by town, sheets by collector, weights on the sheets. Some sheets were
    filed twice, some are out on loan and must not be counted.
    """

    levels = 4
    max_turns = 40

    # towns, collectors per town, most sheets of a collector, questions
    plans = ((2, 2, 3, 1), (3, 3, 5, 1), (3, 5, 6, 2), (4, 6, 9, 3))
    rows_per_page = 4

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        towns, per_town, most, questions = self.plans[self.level]
        self.towns = self.draw_many(TOWNS, towns)
        people = self.draw_many(SURNAMES, towns * per_town)
        self.home = {name: self.towns[place % towns] for place, name in enumerate(people)}
        numbers = iter(self.draw_many(range(1000, 10000), 400))
        self.sheets = {}
        for name in people:
            for _ in range(self.draw_int(2, most)):
                sheet = {
                    "collector": name,
                    "plant": self.draw(PLANTS),
                    "year": self.draw_int(1880, 1939),
                    "grams": self.draw_int(3, 60),
                    "place": "loan" if self.level >= 1 and self.draw_int(1, 6) == 1 else "cabinet",
                }
                self.sheets[next(numbers)] = sheet
        if self.level >= 2:
            for number in self.draw_many(sorted(self.sheets), len(self.sheets) // 6):
                self.sheets[next(numbers)] = {**self.sheets[number], "copy of": number}
        self.state = {}
        self.questions = []
        while len(self.questions) < questions:
            first = self.draw_int(1880, 1925)
            question = (self.draw(self.towns), first, first + self.draw_int(8, 14))
            if len(self.counted(*question)) >= 2 and question not in self.questions:
                self.questions.append(question)
        self.tasks = [
            Task(
                f"What do the sheets weigh together, in grams, that collectors from {town} "
                f"gathered from {first} to {last}, both years included?",
                answer=str(self.weight(town, first, last)),
            )
            for town, first, last in self.questions
        ]
        return self.begin(
            "You keep the index of a plant collection. Sheets that are out on loan are never "
            "counted, and a sheet that is a copy of another is the same sheet filed twice: count "
            "it once."
        )

    def counted(self, town, first, last):
        """Return the numbers of the sheets that a question is about."""
        return [
            number
            for number, sheet in self.sheets.items()
            if self.home[sheet["collector"]] == town
            and first <= sheet["year"] <= last
            and sheet["place"] == "cabinet"
            and "copy of" not in sheet
        ]

    def weight(self, town, first, last):
        """Return the answer to a question."""
        return sum(self.sheets[number]["grams"] for number in self.counted(town, first, last))

    def page_of(self, rows, page):
        """Return one page of rows, with a note on how many pages there are."""
        pages = max(1, -(-len(rows) // self.rows_per_page))
        if not 1 <= page <= pages:
            raise ToolError(f"pages go from 1 to {pages}")
        begin = (page - 1) * self.rows_per_page
        return {"rows": rows[begin : begin + self.rows_per_page], "page": f"{page} of {pages}"}

    @tool
    def collectors(self, town: str, page: int = 1) -> dict[str, object]:
        """List the collectors who came from a town, four to a page.

        Args:
            town: name of the town.
            page: page to show, counted from 1.
        """
        rows = [
            name
            for name in sorted(self.home)
            if self.home[name].casefold() == town.strip().casefold()
        ]
        if not rows:
            raise ToolError(f"towns in the index: {', '.join(sorted(self.towns))}")
        return self.page_of(rows, page)

    @tool
    def sheets_of(self, collector: str, page: int = 1) -> dict[str, object]:
        """List the sheets of a collector with their years, four to a page.

        Args:
            collector: surname of the collector.
            page: page to show, counted from 1.
        """
        rows = [
            f"sheet {number}, {sheet['year']}"
            for number, sheet in sorted(self.sheets.items())
            if sheet["collector"].casefold() == collector.strip().casefold()
        ]
        if not rows:
            raise ToolError("no such collector in the index")
        return self.page_of(rows, page)

    @tool
    def read_sheets(self, numbers: list[int]) -> list[str]:
        """Read what is written on some sheets.

        Args:
            numbers: at most six sheet numbers.
        """
        if len(numbers) > 6:
            raise ToolError("at most six sheets at a time")
        return [self.card(number) for number in numbers]

    def card(self, number):
        """Return the text of one sheet."""
        if number not in self.sheets:
            return f"{number}: no such sheet"
        sheet = self.sheets[number]
        text = f"{number}: {sheet['plant']}, {sheet['year']}, {sheet['grams']} g"
        text += f", in the {sheet['place']}"
        return text + (f", copy of {sheet['copy of']}" if "copy of" in sheet else "")

    @tool
    def sheets_by_plant(self, plant: str, page: int = 1) -> dict[str, object]:
        """List the sheets that show a plant, four to a page, whoever gathered them."""
        rows = [
            f"sheet {n}"
            for n, s in sorted(self.sheets.items())
            if s["plant"] == plant.strip().casefold()
        ]
        return self.page_of(rows, page)

    @tool
    def yearbook_total(self, town: str) -> str:
        """Give a town's total from the yearbook of 1951, loans and copies included."""
        total = sum(s["grams"] for s in self.sheets.values() if self.home[s["collector"]] == town)
        return f"{total} g, all years"

    def hint(self):
        counts = ", ".join(str(len(self.counted(*question))) for question in self.questions)
        return (
            "For each question list all pages of the town's collectors, then all pages of each "
            "one's sheets, keep the sheets of the right years, and read those. Drop loans and "
            f"copies, add the rest. Number of sheets that count, question by question: {counts}."
        )

    def solution(self):
        actions = []
        for question in self.questions:
            right = self.counted(*question)
            batches = [right[i : i + 6] for i in range(0, len(right), 6)]
            actions.append(calls(*(call("read_sheets", numbers=batch) for batch in batches)))
            actions.append(finish(f"\\boxed{{{self.weight(*question)}}}"))
        return actions

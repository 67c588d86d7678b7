from spade_envs.api import Task, ToolEnv, ToolError, call, calls, finish, tool

BAYS = "Gull Pike Heron Coral Amber Otter Tern Slate".split()
SENSORS = "K1 K2 M5 M7 R9".split()


class SonarPipeline(ToolEnv):
    """Drive a chain of slow jobs, from raw sonar dives to a depth count, and compare bays.

    Every stage hands a new identifier to the next. Jobs take time, a mosaic needs the calibration
    that was valid on the day of each dive, and a wrong one is used without complaint.
    """

    levels = 4
    max_turns = 40

    # bays to compare, dives per bay, calibrations per sensor
    plans = ((1, 1, 1), (2, 1, 2), (2, 2, 3), (3, 3, 4))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        bays, dives, versions = self.plans[self.level]
        self.bays = self.draw_many(BAYS, bays)
        self.calibrations = {}  # name -> sensor, first valid day, metres to add
        names = iter(self.draw_many(range(1000, 10000), 60))
        for sensor in SENSORS:
            for day in [1, *sorted(self.draw_many(range(2, 90), versions - 1))]:
                self.calibrations[f"cal-{next(names)}"] = (sensor, day, self.draw_int(-9, 9))
        self.dives = {}  # name -> bay, day, sensor, depths
        for bay in self.bays:
            for _ in range(dives):
                depths = [self.draw_int(10, 60) for _ in range(self.draw_int(60, 240))]
                self.dives[f"dive-{next(names)}"] = (
                    bay,
                    self.draw_int(1, 99),
                    self.draw(SENSORS),
                    depths,
                )
        self.depth = self.draw_int(20, 40)
        self.state = {"clock": 0, "jobs": {}, "products": {}, "next": 1}
        counts = [self.true_count(bay) for bay in self.bays]
        questions = [f"How many cells of {self.bays[0]} Bay lie deeper than {self.depth} metres?"]
        answers = [counts[0]]
        for bay, count in zip(self.bays[1:], counts[1:]):
            questions.append(f"And how many in {self.bays[0]} Bay and {bay} Bay together?")
            answers.append(counts[0] + count)
        self.tasks = [Task(q, answer=str(a)) for q, a in zip(questions, answers)]
        return self.begin(
            "You run the processing of a sea survey. The cells of a bay are those of all its "
            "dives. A mosaic is made of dives, each with the newest calibration of its sensor "
            "that was valid on its day; counts are made on mosaics. Jobs run while you wait."
        )

    def right_calibration(self, dive):
        """Return the name of the calibration that belongs to a dive."""
        _, day, sensor, _ = self.dives[dive]
        valid = [
            (c[1], name) for name, c in self.calibrations.items() if c[0] == sensor and c[1] <= day
        ]
        return max(valid)[1]

    def true_count(self, bay):
        """Return how many cells of a bay lie deeper than the depth asked for."""
        total = 0
        for name, (where, _, _, depths) in self.dives.items():
            if where == bay:
                shift = self.calibrations[self.right_calibration(name)][2]
                total += sum(depth + shift > self.depth for depth in depths)
        return total

    def submit(self, minutes, kind, value):
        """Queue a job that yields `value` after some minutes, and return its identifier."""
        job = f"job-{self.state['next']}"
        self.state["next"] += 1
        self.state["jobs"][job] = [self.state["clock"] + minutes, kind, value]
        return f"submitted as {job}"

    @tool
    def find_dives(self, bay: str) -> list[str]:
        """List the dives in a bay, with day and sensor.

        Args:
            bay: name of the bay, with or without the word Bay.
        """
        short = bay.strip().casefold().removesuffix("bay").strip()
        found = [
            f"{n}: day {d[1]}, sensor {d[2]}"
            for n, d in self.dives.items()
            if d[0].casefold() == short
        ]
        if not found:
            raise ToolError(f"no such bay; bays: {', '.join(self.bays)}")
        return found

    @tool
    def list_calibrations(self, sensor: str) -> list[str]:
        """List the calibrations of a sensor, with the first day on which each is valid."""
        return [
            f"{name}: valid from day {day}, until a newer one"
            for name, (owner, day, _) in self.calibrations.items()
            if owner.casefold() == sensor.strip().casefold()
        ]

    @tool
    def make_mosaic(self, dives: list[str], calibrations: list[str]) -> str:
        """Submit a job that merges dives of one bay into a mosaic.

        Args:
            dives: names of the dives.
            calibrations: for each dive, in the same order, the calibration to apply.
        """
        if not dives or len(dives) != len(calibrations):
            raise ToolError("give one calibration for each dive")
        if any(d not in self.dives for d in dives) or any(
            c not in self.calibrations for c in calibrations
        ):
            raise ToolError("unknown dive or calibration")
        if any(self.dives[d][0] != self.dives[dives[0]][0] for d in dives):
            raise ToolError("the dives are not of one bay")
        cells = [
            depth + self.calibrations[c][2]
            for d, c in zip(dives, calibrations)
            for depth in self.dives[d][3]
        ]
        return self.submit(20 * len(dives), "mosaic", cells)

    @tool
    def count_deeper(self, mosaic: str, metres: int) -> str:
        """Submit a job that counts the cells of a mosaic that are deeper than so many metres."""
        if mosaic not in self.state["products"]:
            raise ToolError("there is no such mosaic; a finished mosaic job tells its name")
        return self.submit(
            15, "count", sum(cell > metres for cell in self.state["products"][mosaic])
        )

    @tool
    def shade_relief(self, mosaic: str) -> str:
        """Submit a job that draws a shaded picture of a mosaic, for people to look at."""
        return self.submit(5, "picture", len(mosaic))

    @tool
    def job_status(self, job: str) -> str:
        """Tell whether a job has finished, and what it yielded."""
        if job not in self.state["jobs"]:
            raise ToolError("there is no such job")
        ready, kind, value = self.state["jobs"][job]
        if self.state["clock"] < ready:
            return f"running, about {ready - self.state['clock']} minutes left"
        if kind == "count":
            return f"finished: {value} cells"
        if kind == "picture":
            return "finished: picture stored"
        name = job.replace("job", "mosaic")
        self.state["products"][name] = value
        return f"finished: {name} of {len(value)} cells"

    @tool
    def wait(self, minutes: int) -> str:
        """Let time pass; all submitted jobs run side by side.

        Args:
            minutes: from 1 to 120.
        """
        if not 1 <= minutes <= 120:
            raise ToolError("wait from 1 to 120 minutes")
        self.state["clock"] += minutes
        return f"{minutes} minutes later"

    def hint(self):
        pairs = ", ".join(f"{name} needs {self.right_calibration(name)}" for name in self.dives)
        return (
            "For each bay: find_dives, list_calibrations for every sensor that occurs, "
            "make_mosaic, wait, job_status (it tells the mosaic's name), count_deeper, wait, "
            f"job_status. Calibrations: {pairs}. Submit the mosaics of all bays before you wait, "
            "and add the counts yourself."
        )

    def solution(self):
        actions, total = [], None
        job = self.state["next"]
        for bay in self.bays:
            dives = [name for name, dive in self.dives.items() if dive[0] == bay]
            right = [self.right_calibration(name) for name in dives]
            actions += [
                calls(
                    call("find_dives", bay=bay),
                    call("make_mosaic", dives=dives, calibrations=right),
                ),
                calls(call("wait", minutes=120), call("job_status", job=f"job-{job}")),
                call("count_deeper", mosaic=f"mosaic-{job}", metres=self.depth),
                calls(call("wait", minutes=30), call("job_status", job=f"job-{job + 1}")),
            ]
            job += 2
            counted = self.true_count(bay)
            actions.append(finish(f"\\boxed{{{counted if total is None else total + counted}}}"))
            total = counted if total is None else total
        return actions

from typing import Literal

from spade_envs.api import Task, ToolEnv, ToolError, call, calls, finish, tool

UNITS = "radio camera arm drill mast spectrometer gyro wheels".split()
KINDS = ("cold", "stuck", "corrupt", "blocked")


class RoverSafeMode(ToolEnv):
    """Bring a rover out of safe mode by repairing its units in an order that works.

    Telemetry shows fault codes, the manual explains them, and repairs have conditions: heat takes
    time and power, software images differ, units wait for other units, and power is short. A unit
    that is restarted wrongly too often is lost.
    """

    levels = 4
    max_turns = 40

    # units, faulty units, watts above what the healthy units draw
    plans = ((3, 2, 60), (4, 3, 40), (6, 5, 20), (8, 8, 10))
    heater_watts = 30

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        count, faulty, spare = self.plans[self.level]
        units = self.draw_many(UNITS, count)
        codes = [f"E{number}" for number in self.draw_many(range(100, 1000), 4)]
        self.codes = dict(zip(KINDS, codes))
        self.images = {unit: f"img-{self.draw_int(100, 999)}" for unit in units}
        self.state = {"units": {}, "safe_mode": True, "minute": 0}
        broken = units[:faulty]
        for place, unit in enumerate(units):
            kind = self.draw(KINDS[:3] if place == 0 else KINDS) if unit in broken else "none"
            self.state["units"][unit] = {
                "fault": kind,
                "needs": self.draw(broken[:place]) if kind == "blocked" else None,
                "celsius": self.draw_int(-30, -12) if kind == "cold" else self.draw_int(2, 20),
                "heater": False,
                "power": True,
                "cycled": False,
                "image": "old" if kind == "corrupt" else self.images[unit],
                "strikes": 0,
            }
        self.supply = 10 * count + spare
        self.order = broken
        self.tasks = [
            Task(
                "The rover has gone into safe mode. Make all units nominal, with their heaters "
                "off, and leave safe mode.",
                done=lambda s: not s["safe_mode"] and all(healthy(u) for u in s["units"].values()),
            )
        ]
        return self.begin(
            f"You operate a rover with these units: {', '.join(sorted(units))}. A unit that is on "
            f"draws 10 W, a heater {self.heater_watts} W; {self.supply} W are there. Power that "
            "is not there cannot be switched on. A third failed restart of a unit destroys it. "
            f"Last line of the log: sol {self.draw_int(10, 999)}, safe mode after {codes[0]}."
        )

    def unit(self, name):
        """Return the state of a unit that exists."""
        if name not in self.state["units"]:
            raise ToolError(f"units: {', '.join(sorted(self.state['units']))}")
        return self.state["units"][name]

    def draw_watts(self):
        """Return the power that is drawn now."""
        units = self.state["units"].values()
        return sum(10 * u["power"] + self.heater_watts * u["heater"] for u in units)

    def switch_on(self, watts):
        """Refuse to switch on what the supply cannot carry."""
        if self.draw_watts() + watts > self.supply:
            raise ToolError(
                f"undervoltage: {self.draw_watts()} of {self.supply} W are drawn already"
            )

    @tool
    def telemetry(self, unit: str) -> dict[str, object]:
        """Read a unit: fault code, temperature, switches, software image.

        Args:
            unit: name of the unit.
        """
        u = self.unit(unit)
        return {
            "code": self.codes.get(u["fault"], "lost" if u["fault"] == "lost" else "nominal"),
            "celsius": u["celsius"],
            "power": "on" if u["power"] else "off",
            "heater": "on" if u["heater"] else "off",
            "image": u["image"],
        }

    @tool
    def manual(self, unit: str, code: str) -> str:
        """Look a unit's fault code up in the manual.

        Args:
            unit: name of the unit.
            code: fault code as shown by telemetry, such as E123.
        """
        u = self.unit(unit)
        kind = {value: key for key, value in self.codes.items()}.get(code)
        texts = {
            "cold": "The unit is too cold. Restart it while it is at 0 degrees or above.",
            "stuck": "The unit hangs. Switch its power off, then on, then restart it.",
            "corrupt": f"The software is damaged. Upload {self.images[unit]}, then restart it.",
            "blocked": f"The unit waits for another one. Restart it when {u['needs']} is nominal.",
        }
        return (
            texts.get(kind, "The manual has no such code.")
            if kind == u["fault"]
            else "Does not apply."
        )

    @tool
    def heater(self, unit: str, switch: Literal["on", "off"]) -> str:
        """Switch a unit's heater; it warms the unit by 3 degrees a minute up to 25 degrees."""
        u = self.unit(unit)
        if switch == "on" and not u["heater"]:
            self.switch_on(self.heater_watts)
        u["heater"] = switch == "on"
        return f"heater {switch}, {self.draw_watts()} W drawn"

    @tool
    def power(self, unit: str, switch: Literal["on", "off"]) -> str:
        """Switch a unit's power."""
        u = self.unit(unit)
        if switch == "on" and not u["power"]:
            self.switch_on(10)
            u["cycled"] = True
        u["power"] = switch == "on"
        return f"power {switch}, {self.draw_watts()} W drawn"

    @tool
    def upload(self, unit: str, image: str) -> str:
        """Upload a software image to a unit."""
        u = self.unit(unit)
        if image not in self.images.values():
            raise ToolError("there is no such image on board")
        u["image"] = image
        return f"{image} uploaded"

    @tool
    def restart(self, unit: str) -> str:
        """Restart a unit, which clears its fault if the cause is gone."""
        u = self.unit(unit)
        if u["fault"] == "lost" or not u["power"]:
            raise ToolError("the unit does not react")
        cured = {
            "none": True,
            "cold": u["celsius"] >= 0,
            "stuck": u["cycled"],
            "corrupt": u["image"] == self.images[unit],
            "blocked": u["needs"] is not None
            and self.state["units"][u["needs"]]["fault"] == "none",
        }[u["fault"]]
        if cured:
            u["fault"] = "none"
            return "nominal"
        u["strikes"] += 1
        if u["strikes"] >= 3:
            u["fault"] = "lost"
        raise ToolError(f"restart failed with code {self.codes.get(u['fault'], 'lost')}")

    @tool
    def wait(self, minutes: int) -> str:
        """Let time pass, from 1 to 15 minutes; units without heating cool by 1 degree a minute."""
        if not 1 <= minutes <= 15:
            raise ToolError("wait from 1 to 15 minutes")
        for u in self.state["units"].values():
            u["celsius"] = (
                min(25, u["celsius"] + 3 * minutes)
                if u["heater"]
                else max(-60, u["celsius"] - minutes)
            )
        self.state["minute"] += minutes
        return f"{minutes} minutes later"

    @tool
    def leave_safe_mode(self) -> str:
        """Leave safe mode; refused while any unit is not nominal or any heater is on."""
        if not all(healthy(u) for u in self.state["units"].values()):
            raise ToolError("a unit is not nominal, is off, or is heated")
        self.state["safe_mode"] = False
        return "safe mode is off"

    def hint(self):
        order = ", ".join(
            name for name in self.order if self.state["units"][name]["fault"] != "none"
        )
        return (
            f"Repair in this order: {order}. Read the code of each unit and look it up before you "
            "touch anything. Heat one unit at a time, wait until telemetry shows 0 degrees or "
            "more, restart it at once, and switch its heater off. If power is short, switch "
            "healthy units off for a while and on again at the end."
        )

    def shed(self, heated):
        """Return which other units to switch off so that the power for one heater is there."""
        units = [name for name in self.state["units"] if name != heated]
        spare = self.supply - 10 * len(self.state["units"])
        return units[: max(0, -(-(self.heater_watts - spare) // 10))]

    def solution(self):
        actions = []
        for name in self.order:
            u = self.state["units"][name]
            steps = [
                call("telemetry", unit=name),
                call("manual", unit=name, code=self.codes.get(u["fault"], "")),
            ]
            if u["fault"] == "cold":
                # earlier waiting has cooled it further, so heat long enough for the worst case
                steps += [call("power", unit=other, switch="off") for other in self.shed(name)]
                steps += [call("heater", unit=name, switch="on"), *[call("wait", minutes=15)] * 2]
            if u["fault"] == "stuck":
                steps += [call("power", unit=name, switch=way) for way in ("off", "on")]
            if u["fault"] == "corrupt":
                steps.append(call("upload", unit=name, image=self.images[name]))
            steps.append(call("restart", unit=name))
            if u["fault"] == "cold":
                steps.append(call("heater", unit=name, switch="off"))
                steps += [call("power", unit=other, switch="on") for other in self.shed(name)]
            actions.append(calls(*steps))
        return [*actions, call("leave_safe_mode"), finish("The rover is out of safe mode.")]


def healthy(unit):
    """Whether a unit is on, nominal and not heated."""
    return unit["fault"] == "none" and unit["power"] and not unit["heater"]

import json
import random

from tool_use_base_env import ToolUseBaseEnv

GUESTS = [
    "Abara",
    "Brandt",
    "Cervantes",
    "Dufour",
    "Eklund",
    "Farouk",
    "Grimaldi",
    "Horvat",
    "Ibsen",
    "Jansen",
]
FLOORS = (1, 2, 3)


def called(name, **arguments):
    body = json.dumps({"name": name, "arguments": arguments})
    return f"<tool_call>{body}</tool_call>"


class NightPorterEnv(ToolUseBaseEnv):
    """Move a guest, then order a wake-up call, then say what the guest has to pay."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        guests = rng.sample(GUESTS, 5)
        numbers = rng.sample(range(10, 40), 9)
        rooms = {
            str(100 * rng.choice(FLOORS) + number): {
                "guest": None,
                "pence": rng.randint(3000, 9900),
            }
            for number in numbers
        }
        for guest, room in zip(guests, rng.sample(sorted(rooms), 5), strict=True):
            rooms[room]["guest"] = guest
        self.guest = guests[0]
        free = [room for room in sorted(rooms) if rooms[room]["guest"] is None]
        self.goal = rng.choice(free)
        self.time = f"{rng.randint(4, 9):02d}:{rng.randint(0, 59):02d}"
        nights = rng.randint(2, 9)
        self._state = {"rooms": rooms, "calls": {}}
        self._message_criteria = [
            lambda s: s["rooms"][self.goal]["guest"] == self.guest,
            lambda s: s["calls"].get(self.guest) == self.time,
        ]
        self._messages = [
            f"Please move {self.guest} to room {self.goal}.",
            f"Now order a wake-up call for {self.guest} at {self.time}.",
            f"What does {self.guest} pay for {nights} nights in the new room, in pence?",
        ]
        self._expected_answer = nights * rooms[self.goal]["pence"]
        self._tools = {
            "find_guest": self._tool("Tell in which room a guest sleeps.", guest="string"),
            "room_card": self._tool("Tell who sleeps in a room, and its price.", room="string"),
            "move_guest": self._tool(
                "Move whoever sleeps in one room to another, free one.",
                from_room="string",
                to_room="string",
            ),
            "wake_up": self._tool("Order a wake-up call.", guest="string", time="string"),
        }
        return f"You are the night porter of a hotel.\nUser: {self._messages[0]}", {}

    def _tool(self, description, **properties):
        return {
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {name: {"type": kind} for name, kind in properties.items()},
                "required": list(properties),
            },
        }

    def room_of(self, guest):
        rooms = self._state["rooms"]
        return next((room for room in rooms if rooms[room]["guest"] == guest), None)

    def tool_find_guest(self, guest):
        room = self.room_of(guest)
        return f"{guest} sleeps in room {room}" if room else "error: no such guest"

    def tool_room_card(self, room):
        card = self._state["rooms"].get(room)
        if card is None:
            return "error: no such room"
        return f"room {room}: {card['guest'] or 'free'}, {card['pence']} pence a night"

    def tool_move_guest(self, from_room, to_room):
        rooms = self._state["rooms"]
        if from_room not in rooms or to_room not in rooms:
            return "error: no such room"
        if rooms[from_room]["guest"] is None or rooms[to_room]["guest"] is not None:
            return "error: one room must be taken and the other free"
        rooms[to_room]["guest"], rooms[from_room]["guest"] = rooms[from_room]["guest"], None
        return "moved" + self._advance_if_done()

    def tool_wake_up(self, guest, time):
        if self.room_of(guest) is None:
            return "error: no such guest"
        self._state["calls"][guest] = time
        return "ordered" + self._advance_if_done()

    def solution(self):
        return [
            called("find_guest", guest=self.guest),
            called("move_guest", from_room=self.room_of(self.guest), to_room=self.goal),
            called("wake_up", guest=self.guest, time=self.time),
            called("room_card", room=self.goal),
            f"<answer>{self._expected_answer}</answer>",
        ]

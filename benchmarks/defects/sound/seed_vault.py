import json
import random

from tool_use_base_env import ToolUseBaseEnv

PLANTS = ["alder", "barley", "clover", "durum", "einkorn", "flax", "gorse", "hyssop"]
SHELVES = ["north", "south", "east", "west"]


class SeedVaultEnv(ToolUseBaseEnv):
    """Answer a question about the seed lots of a vault by reading their cards."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        codes = rng.sample(range(1000, 9999), 14)
        lots = {
            f"lot-{code}": {
                "plant": rng.choice(PLANTS),
                "shelf": rng.choice(SHELVES),
                "grams": rng.randint(40, 900),
                "sprouting": rng.randint(30, 99),
            }
            for code in codes
        }
        self._state = {"lots": lots}
        shelf = rng.choice([lot["shelf"] for lot in lots.values()])
        least = rng.randint(45, 75)
        self._wanted = shelf, least
        chosen = [lot for lot in lots.values() if lot["shelf"] == shelf]
        self._expected_answer = sum(
            lot["grams"] * 3 + 7 for lot in chosen if lot["sprouting"] >= least
        )
        self._tools = {
            "list_lots": {
                "description": "List the names of the lots on one shelf.",
                "parameters": {
                    "type": "object",
                    "properties": {"shelf": {"type": "string", "enum": SHELVES}},
                    "required": ["shelf"],
                },
            },
            "read_card": {
                "description": "Read a lot's card: plant, grams, and share of seeds that sprout.",
                "parameters": {
                    "type": "object",
                    "properties": {"lot": {"type": "string", "description": "name of the lot"}},
                    "required": ["lot"],
                },
            },
        }
        return (
            "A seed vault has four shelves: north, south, east and west. Storing a lot costs 3 "
            f"pence a gram and 7 pence for its box. What do the lots on the {shelf} shelf of which "
            f"at least {least} in a hundred seeds sprout cost together? Give the number of pence."
        ), {}

    def tool_list_lots(self, shelf):
        if shelf not in SHELVES:
            return f"error: shelves are {', '.join(SHELVES)}"
        names = [name for name, lot in self._state["lots"].items() if lot["shelf"] == shelf]
        return ", ".join(names) or "no lots"

    def tool_read_card(self, lot):
        if lot not in self._state["lots"]:
            return "error: there is no such lot"
        card = self._state["lots"][lot]
        return f"plant {card['plant']}, grams {card['grams']}, sprouting {card['sprouting']} %"

    def solution(self):
        shelf = self._wanted[0]
        names = [name for name, lot in self._state["lots"].items() if lot["shelf"] == shelf]
        asked = [("list_lots", "shelf", shelf), *(("read_card", "lot", name) for name in names)]
        calls = [
            json.dumps({"name": tool, "arguments": {key: value}}) for tool, key, value in asked
        ]
        return [
            *(f"<tool_call>{text}</tool_call>" for text in calls),
            f"<answer>{self._expected_answer}</answer>",
        ]

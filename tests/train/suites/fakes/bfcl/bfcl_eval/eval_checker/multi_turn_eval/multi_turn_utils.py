import re


class Shelf:
    def __init__(self):
        self.books = []
        self._secret = "hidden"

    def _load_scenario(self, config, long_context=False):
        self.books = list(config.get("books", []))

    def put(self, title, copies=1):
        self.books += [title] * copies
        return {"books": len(self.books)}

    def look(self):
        return ", ".join(self.books)

    def power(self, base, exponent):
        return str(base**exponent)


def execute_multi_turn_func_call(
    func_call_list, initial_config, involved_classes, model_name, test_entry_id,
    long_context=False, is_evaL_run=False,
):  # fmt: skip
    name = f"{model_name}{'_eval' if is_evaL_run else ''}_{test_entry_id}_Shelf_instance"
    held = globals()
    if name not in held:
        held[name] = Shelf()
        held[name]._load_scenario(initial_config.get("Shelf", {}))
    results = []
    for text in func_call_list:
        prefixed = re.sub(r"\b(put|look|power)\s*(?=\()", rf"{name}.\1", text)
        try:
            results.append(str(eval(prefixed)))
        except Exception as error:
            results.append(f"Error during execution: {error}")
    return results, {"Shelf": held[name]}

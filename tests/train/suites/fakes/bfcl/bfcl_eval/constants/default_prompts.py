OUTPUT_FORMAT_MAPPING = {"python": "[name(key=value)]"}
PARAM_TYPE_MAPPING = {"python": ""}
PROMPT_STYLE_TEMPLATES = {
    "classic": {
        "persona": "You call functions.",
        "task": "Do what is asked.",
        "tool_call_no_tag": "Write {output_format}. {param_types}",
        "multiturn_behavior": "Go on until it is done.",
        "available_tools": "In {format}:\n{functions}",
    }
}
PROMPT_TEMPLATE_MAPPING = {
    "plaintext": "{persona}{task}{tool_call_format}{multiturn_behavior}{available_tools}"
}
DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_PROMPTING = "{functions}\nMore functions. And now?"

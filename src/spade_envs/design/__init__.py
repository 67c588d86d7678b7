"""From a brief to source code: prompts, language-model clients, parsing, novelty."""

"""The known peers: where their prompts are, what fills them, and how replies are read."""

"""Judges behind a server: anything that speaks the chat completions protocol of OpenAI."""

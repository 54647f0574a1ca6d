"""The vLLM engine: decoder models in a vLLM of our own process, on GPUs or a processor.

=================  ================================================================
module             what it does
=================  ================================================================
``opening``        finds the model's files, and starts the engine
``settings``       its options
``starting``       starts vLLM: within a time, and without its noise
``engine``         the engine: requests in, completions out
``asking``         the questions of a tree of verdicts as requests to vLLM
=================  ================================================================

Chat templates, control tokens, cutting and trees of verdicts are those of the transformers engine
(:mod:`magistrate.engines.hf`): vLLM is handed token ids, never text.
"""

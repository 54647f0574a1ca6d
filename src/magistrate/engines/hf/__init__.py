"""The transformers engine: decoder models from a folder, a GGUF file or the hub, run here.

=================  ================================================================
module             what it does
=================  ================================================================
``engine``         the engine: requests in, completions out
``settings``       its options
``files``          finds a model's files; safetensors and GGUF only
``hashing``        hashes of weights, remembered between runs
``loading``        loads model, tokenizer and adapter
``chat``           what a chat template puts around messages
``plain``          encodes text in which no control token can stand
``prompts``        requests to token ids that fit the window
``encoding``       requests to token ids and back, for this engine and that of vLLM
``verdicts``       the token paths of verdicts behind a prompt
``forest``         prompts that begin alike share what they have in common
``attention``      attention over packed prompts, without padding
``passes``         runs the model over packed prompts, each shared part once
``exactly``        exact distributions over verdicts
``sampling``       the next token of each reply
``writing``        replies, in batches
``head_models``    models with a head on top
``heads``          the engine for judge folders with a head
``head_opening``   opens it
``memory``         what is done when memory runs out
=================  ================================================================
"""

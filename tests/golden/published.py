"""Figures as they were published, with where; written as they stand there, so digits are kept.

``recomputed`` in a source says that no publication was at hand: the figure was computed from the
same files by a script apart from this package.
"""

from __future__ import annotations

PANDALM_SOURCE = "PandaLM, README as of commit f051eae: metrics and tables of wins"
PANDALM_LABELS_SOURCE = "PandaLM, README: Cohen's kappa and label distribution"

_LLAMA, _BLOOM, _CEREBRAS = "llama-7b", "bloom-7b", "cerebras-gpt-6.7B"
_OPT, _PYTHIA = "opt-7b", "pythia-6.9b"
PANDALM_COUPLES = (
    (_LLAMA, _BLOOM),
    (_LLAMA, _CEREBRAS),
    (_LLAMA, _OPT),
    (_LLAMA, _PYTHIA),
    (_BLOOM, _CEREBRAS),
    (_BLOOM, _OPT),
    (_BLOOM, _PYTHIA),
    (_CEREBRAS, _OPT),
    (_CEREBRAS, _PYTHIA),
    (_OPT, _PYTHIA),
)
_CELLS = {
    "human": (
        *((72, 28, 11), (80, 24, 6), (71, 24, 11), (58, 27, 9), (59, 30, 11)),
        *((43, 35, 11), (47, 49, 11), (33, 49, 9), (27, 53, 11), (32, 53, 15)),
    ),
    "gpt-3.5-turbo": (
        *((69, 32, 10), (80, 24, 6), (70, 29, 7), (60, 28, 6), (67, 29, 4)),
        *((46, 38, 5), (52, 48, 7), (38, 45, 8), (28, 57, 6), (43, 53, 4)),
    ),
    "pandalm-7b": (
        *((57, 37, 17), (75, 26, 9), (60, 33, 13), (46, 41, 7), (57, 31, 12)),
        *((46, 36, 7), (51, 41, 15), (37, 45, 9), (33, 52, 6), (40, 48, 12)),
    ),
}
"""(wins, losses, ties) of the first of each two models.

Bloom against Pythia by people stands as (49, 47, 11) in an earlier README (commit 5c0a029), against
the labels of its own test set; the data folder's page says that the later one agrees with them.
"""


def _cells(table: str, who: str) -> dict[str, str]:
    return {
        f"{who} {row} vs {column} {kind}": str(count)
        for (row, column), counts in zip(PANDALM_COUPLES, _CELLS[table], strict=True)
        for kind, count in zip(("win", "lose", "tie"), counts, strict=True)
    }


PANDALM: dict[str, dict[str, str]] = {
    "pandalm-7b": {
        "accuracy": "66.77",
        "precision": "57.38",
        "recall": "57.50",
        "f1": "57.43",
        **_cells("pandalm-7b", "judge"),
        **_cells("human", "human"),
    },
    "gpt-3.5-turbo": {
        "accuracy": "71.07",
        "precision": "58.79",
        "recall": "57.36",
        "f1": "57.55",
        **_cells("gpt-3.5-turbo", "judge"),
    },
}
PANDALM_PEOPLE = {
    "majority tie": "105",
    "majority first": "422",
    "majority second": "472",
    "majority no majority": "0",
    "kappa 1-2": "0.85",
    "kappa 1-3": "0.88",
    "kappa 2-3": "0.86",
}


def _points(model: str) -> str:
    total = 0.0
    for (row, column), (wins, losses, ties) in zip(PANDALM_COUPLES, _CELLS["human"], strict=True):
        if model in (row, column):
            total += (wins if model == row else losses) + ties / 2
    return f"{total:.1f}"


TOURNAMENT = {model: _points(model) for model in (_LLAMA, _BLOOM, _CEREBRAS, _OPT, _PYTHIA)}

GPT4_SOURCE = "released outputs of arXiv 2403.02839 (commit 3bf6ad5), recomputed"
GPT4_ON_PANDALM = {"accuracy": "77.58", "precision": "71.42", "recall": "71.77", "f1": "71.57"}
GPT4_PARSED = {"right, of ok": "78.05"}

AUTO_J_SOURCE = "Auto-J, README and codes/leaderboard; 'single' recomputed"
AUTO_J = {"agreement": "54.96", "consistency": "83.41", "single": "59.99"}

LLMBAR_SOURCE = "LLMBar, statistics.json beside each result.json"
LLMBAR_FOLDERS = tuple(
    f"{subset}/evaluators/{evaluator}"
    for subset in ("Natural", "Adversarial/Neighbor")
    for evaluator in (
        "GPT-4/Vanilla",
        "GPT-4/Swap",
        "GPT-4/Rating",
        "ChatGPT/Vanilla",
        "LLaMA2/Vanilla",
    )
)

JUDGEBENCH_SOURCE = "JudgeBench (arXiv 2410.12784), rule of its code, recomputed"
JUDGEBENCH = {
    "Skywork_Skywork-Reward-Llama-3.1-8B": {
        "overall": "62.29",
        "knowledge overall": "59.09",
        "reasoning overall": "64.29",
        "math overall": "76.79",
        "coding overall": "50.00",
    },
    "o1-mini-2024-09-12": {
        "overall": "65.71",
        "knowledge overall": "58.44",
        "reasoning overall": "62.24",
        "math overall": "82.14",
        "coding overall": "78.57",
    },
}

ALPACA_EVAL_SOURCE = "AlpacaEval, leaderboard files of its repository"
_ROWS = {
    "alpaca-7b": ("26.459627", 205, 16, 805, "1.53571147"),
    "text_davinci_001": ("15.174129", 112, 20, 804, "1.235107892"),
    "vicuna-13b": ("70.434783", 566, 2, 805, "1.606968841"),
    "gpt4": ("95.279503", 761, 12, 805, "0.71628144"),
    "claude": ("91.552795", 737, 0, 805, None),
    "wizardlm-13b": ("75.310945", 601, 9, 804, "1.510185829"),
    "guanaco-65b": ("71.801242", 578, 0, 805, "1.586912361"),
    "oasst-rlhf-llama-33b": ("66.521739", 534, 3, 805, "1.660828843"),
    "llama-2-7b-chat-hf": ("71.366460", 574, 1, 805, "1.593038655"),
    "zephyr-7b-beta": ("90.597758", 727, 1, 803, "1.0287080531312012"),
    "alpaca-farm-ppo-human": ("41.242236", 328, 8, 805, "1.727181312"),
    "phi-2": ("30.663329", 234, 22, 799, "1.6056202651534168"),
    "phi-2-sft": ("68.532338", 551, 0, 804, "1.6387859753495355"),
    "minichat-3b": ("48.818408", 390, 5, 804, "1.758472313521605"),
    "alpaca-7b-neft": ("61.643836", 495, 0, 803, None),
    "falcon-7b-instruct": ("45.714286", 366, 4, 805, "1.752471706"),
}
"""Win rate, n_wins, n_draws, n_total, standard_error (None where the leaderboard at hand is of
another run of the annotator). falcon-7b-instruct holds the annotations of falcon-40b-instruct."""


def _row(win_rate: str, wins: int, draws: int, total: int, error: str | None) -> dict[str, str]:
    row = {
        "win_rate": win_rate,
        "n_wins": str(wins),
        "n_wins_base": str(total - wins - draws),
        "n_draws": str(draws),
        "n_total": str(total),
    }
    return row if error is None else {**row, "standard_error": error}


ALPACA_EVAL: dict[tuple[str, str], dict[str, str]] = {
    **{(model, "alpaca_eval_gpt4"): _row(*row) for model, row in _ROWS.items()},
    ("alpaca-7b", "weighted_alpaca_eval_gpt4_turbo"): {
        "win_rate": "2.591450540223603",
        "discrete_win_rate": "2.298136645962733",
        "standard_error": "0.4870855382635108",
        "n_wins": "17",
        "n_wins_base": "785",
        "n_draws": "3",
        "n_total": "805",
    },
    ("text_davinci_001", "weighted_alpaca_eval_gpt4_turbo"): {
        "win_rate": "2.764005",
        "discrete_win_rate": "3.051059",
    },
}

VICUNA_SOURCE = "lmsys blog of 2023-03-30, table 2; wins recomputed"
VICUNA = {
    name: {
        "baseline total": baseline,
        "vicuna total": vicuna,
        "baseline wins": wins,
        "vicuna wins": losses,
        "ties": ties,
    }
    for name, baseline, vicuna, wins, losses, ties in (
        ("llama-13b", "513.0", "694.0", "3", "77", "0"),
        ("alpaca-13b", "583.0", "704.0", "3", "76", "1"),
        ("bard", "664.0", "655.5", "30", "40", "10"),
        ("gpt35", "693.0", "638.0", "44", "14", "22"),
    )
}

ROUTELLM_SOURCE = "RouteLLM, judgements.jsonl of its repository, recomputed"
ROUTELLM = {
    "gpt-4-1106-preview": "9.228125",
    "mistralai/Mixtral-8x7B-Instruct-v0.1": "8.340625",
}

LLMZOO_SOURCE = "LLMZoo, metric.json beside each review.jsonl"
LLMZOO_ASPECTS = ("coherence", "diversity", "general", "immersion", "relevance")

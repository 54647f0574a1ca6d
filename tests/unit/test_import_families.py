"""``families import``: peers' wording becomes families that ask just as the peer does."""

from __future__ import annotations

import json
import re
import types
from pathlib import Path
from typing import Any

import pytest
from peers_help import (
    ALPACA_PROMPT,
    AUTOJ,
    JUDGEBENCH,
    JUDGELM,
    MTBENCH,
    PANDALM,
    PROMETHEUS,
    all_peers,
    write,
)
from test_untrusted_battery import FIELDS, HONEST, attacks_on, needs_turns, sample_of, shape_of

from magistrate.cli import families as families_command
from magistrate.cli.families_import import EXAMPLES
from magistrate.cli.families_import import import_family as import_command
from magistrate.cli.main import main
from magistrate.errors import FamilyError, MissingVariablesError
from magistrate.messages import Completion
from magistrate.prompts.catalog import list_families, load_family
from magistrate.prompts.importing.importer import KNOWN, RECIPES, import_family
from magistrate.prompts.text_family import TextFamily
from magistrate.records import Answer, Sample, Turn, reference_of_turns

QUESTION = "Why {question} {{x}} 100% %s {% raw %}\r\n{}?"
ANSWERS = ("One {answer_1}.\n\n", "{}} two", "Three: é", "4")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MAGISTRATE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def peers(tmp_path: Path) -> dict[str, Path]:
    return all_peers(tmp_path)


def sample(count: int = 2, **fields: Any) -> Sample:
    return Sample(
        question=QUESTION, answers=tuple(Answer(text=text) for text in ANSWERS[:count]), **fields
    )


def asked(family: str, of: Sample) -> list[list[tuple[str, str]]]:
    """Return each prompt as roles and texts."""
    prompts = load_family(family).prompts(of, tuple(range(len(of.answers))))
    return [[(message.role, message.text) for message in messages] for messages in prompts]


def module(source: str) -> Any:
    """Return a made-up peer's source as a module: the test may run it, the importer may not."""
    made = types.ModuleType("peer")
    lines = [line for line in source.splitlines() if not re.match(r"import torch|raise ", line)]
    made.__dict__["__name__"] = "peer"
    import sys

    sys.modules["peer"] = made
    exec("\n".join(lines), made.__dict__)
    return made


NUMBER_WORDS = {2: "two", 3: "three", 4: "four"}


def judgelm_asks(name: str, of: Sample) -> str:
    """Build a prompt as JudgeLM's scripts do."""
    conv = getattr(module(JUDGELM), name)
    answers = [answer.text for answer in of.answers]
    fields = {"question": of.question, "prompt": conv.prompt, "reference": of.reference}
    if "multi" in name:
        count = len(answers)
        prompt = conv.prompt.replace("two", NUMBER_WORDS[count])
        numbers = ", ".join(str(place) for place in range(1, count)) + f" and {count}"
        fields["prompt"] = prompt.replace("for Assistant 1 and 2", f"for Assistant {numbers}")
        fields["answer_more"] = "".join(
            conv.answer_format.format(answer_id=place, answer=answer)
            for place, answer in enumerate(answers, 1)
            if place > 2
        )
    if "single" in name:
        fields |= {"answer_1": of.reference, "answer_2": answers[0]}
    else:
        fields |= {"answer_1": answers[0], "answer_2": answers[1]}
    text: str = conv.system + "\n" + conv.prompt_template.format(**fields) + conv.appendix
    return text


@pytest.mark.parametrize(
    ("family", "name", "counts"),
    [
        ("judgelm", "conv_judge_pair", (2,)),
        ("judgelm-reference", "conv_judge_pair_w_reference", (2,)),
        ("judgelm-n-way", "conv_judge_multi", (2, 3, 4)),
        ("judgelm-n-way-reference", "conv_judge_multi_w_reference", (2, 3, 4)),
        ("judgelm-single", "conv_judge_single", (1,)),
        ("judgelm-single-reference", "conv_judge_single_w_reference", (1,)),
        ("judgelm-multimodal-text", "conv_judge_vqa_single_answer", (1,)),
    ],
)
def test_judgelm(family: str, name: str, counts: tuple[int, ...], peers: dict[str, Path]) -> None:
    imported = import_family(family, peers["judgelm"])
    assert imported.prompt == name
    assert imported.has_score_mode
    for count in counts:
        of = sample(count, reference="Ref {so}")
        assert asked(family, of) == [[("text", judgelm_asks(name, of))]]
    file = load_family(family).file
    assert set(file.markers) >= {
        "[Question]",
        "[The Start of Assistant {n}'s Answer]",
        "[The End of Assistant {n}'s Answer]",
        "[System]",
        "### Response:",
    }


def test_the_single_form_begins_with_the_references_score(peers: dict[str, Path]) -> None:
    import_family("judgelm-single", peers["judgelm"])
    family = load_family("judgelm-single", mode="score")
    of = sample(1, reference="Ref")
    verdict = family.read([Completion(key="0", text=" 7")], of, (0,))
    assert (verdict.status, verdict.scores) == ("ok", (7.0,))


def test_pandalm(peers: dict[str, Path]) -> None:
    imported = import_family("pandalm", peers["pandalm"])
    source = PANDALM.replace('self.pattern.sub("", resp1.strip()).strip()', "resp1")
    build = module(source).Provider().build_pandalm_prompt
    first, second = ANSWERS[:2]
    assert asked("pandalm", sample()) == [[("text", build(QUESTION, "", first, second))]]
    given = build(QUESTION, "In\n\nput", first, second)
    assert asked("pandalm", sample(context=("In", "put"))) == [[("text", given)]]
    assert imported.slots == {
        "instruction": "question", "input": "context", "resp1": "answer_1", "resp2": "answer_2",
    }  # fmt: skip
    read = load_family("pandalm").read
    replies = {"1\n\n### Reason: so": "first", "2": "second", "Tie\n": "tie"}
    for reply, meaning in replies.items():
        assert read([Completion(key="0", text=reply)], sample(), (0, 1)).preference == meaning


def test_auto_j(peers: dict[str, Path]) -> None:
    build = module(AUTOJ).build
    import_family("auto-j-pair", peers["auto-j"])
    wanted = build(QUESTION, *ANSWERS[:2], "pairwise_tie")
    assert asked("auto-j-pair", sample()) == [[("text", wanted)]]
    import_family("auto-j-single", peers["auto-j"] / "codes" / "usage" / "constants_prompt.py")
    assert asked("auto-j-single", sample()) == [
        [("text", build(QUESTION, answer))] for answer in ANSWERS[:2]
    ]
    reply = Completion(key="0", text="Both fail. So, the final decision is Response 2.")
    assert load_family("auto-j-pair").read([reply], sample(), (0, 1)).preference == "second"


def test_auto_j_in_chinese(tmp_path: Path) -> None:
    source = AUTOJ.replace("single =", "zh_single =").replace("pairwise_tie =", "zh_pairwise_tie =")
    file = write(tmp_path, {"codes/usage/zh_constants_prompt.py": source.partition("protocol")[0]})
    import_family("auto-j-zh-pair", file)
    reply = Completion(key="0", text="所以，最终决定是回应2")
    assert load_family("auto-j-zh-pair").read([reply], sample(), (0, 1)).preference == "second"


@pytest.mark.parametrize("inside", ["", "libs", "libs/prometheus-eval/prometheus_eval"])
def test_prometheus(inside: str, peers: dict[str, Path]) -> None:
    peer = module(PROMETHEUS)
    fields = {"instruction": QUESTION, "rubric": "Be {brief}.", "reference_answer": "Ref"}
    of = sample(1, rubric="Be {brief}.", reference="Ref")
    for family, prompt in (
        ("prometheus-absolute", peer.ABSOLUTE_PROMPT_WO_REF),
        ("prometheus-absolute-reference", peer.ABSOLUTE_PROMPT),
    ):
        imported = import_family(family, peers["prometheus"] / inside)
        wanted = f"{peer.ABS_SYSTEM_PROMPT}\n{prompt.format(response=ANSWERS[0], **fields)}"
        assert asked(family, of) == [[("user", wanted)]]
        assert "rubric" in imported.needs
    for family, prompt in (
        ("prometheus-relative", peer.RELATIVE_PROMPT_WO_REF),
        ("prometheus-relative-reference", peer.RELATIVE_PROMPT),
    ):
        import_family(family, peers["prometheus"] / inside)
        filled = prompt.format(response_A=ANSWERS[0], response_B=ANSWERS[1], **fields)
        two = sample(rubric="Be {brief}.", reference="Ref")
        assert asked(family, two) == [[("user", f"{peer.REL_SYSTEM_PROMPT}\n{filled}")]]


def mtbench_row(rows: list[dict[str, str]], name: str) -> dict[str, str]:
    return next(row for row in rows if row["name"] == name)


def check_mtbench(rows: list[dict[str, str]], path: Path) -> None:
    """Import from ``path`` what is known of MT-bench, and compare with the rows themselves."""
    of = sample(reference="Ref {so}")
    fields = {"question": QUESTION, "ref_answer_1": "Ref {so}"}
    pair = {"answer_a": ANSWERS[0], "answer_b": ANSWERS[1]}
    for family, name in (
        ("mt-bench-pair", "pair-v2"),
        ("mt-bench-pair-reference", "pair-math-v1"),
    ):
        import_family(family, path)
        row = mtbench_row(rows, name)
        wanted = row["prompt_template"].format(**fields, **pair)
        assert asked(family, of) == [[("system", row["system_prompt"]), ("user", wanted)]]
    import_family("mt-bench-single", path)
    row = mtbench_row(rows, "single-v1")
    assert asked("mt-bench-single", sample(1)) == [
        [
            ("system", row["system_prompt"]),
            ("user", row["prompt_template"].format(answer=ANSWERS[0], **fields)),
        ]
    ]
    import_family("mt-bench-pair-two-turns", path)
    row = mtbench_row(rows, "pair-v2-multi-turn")
    turns = {f"answer_{side}_{turn}": f"{side}{turn} {{}}" for side in "ab" for turn in (1, 2)}
    talks = tuple(
        Answer(
            text=turns[f"answer_{side}_2"],
            turns=(
                Turn(role="assistant", text=turns[f"answer_{side}_1"]),
                Turn(role="user", text="And {then}?"),
                Turn(role="assistant", text=turns[f"answer_{side}_2"]),
            ),
        )
        for side in "ab"
    )
    wanted = row["prompt_template"].format(question_1=QUESTION, question_2="And {then}?", **turns)
    ((_, (_, shown)),) = asked("mt-bench-pair-two-turns", Sample(question=QUESTION, answers=talks))
    assert shown == wanted


def test_mt_bench(peers: dict[str, Path]) -> None:
    check_mtbench(MTBENCH, peers["mt-bench"])


@pytest.mark.data
def test_the_real_prompts_of_mt_bench(data_folder: Path) -> None:
    file = data_folder / "fastchat" / "llm_judge" / "judge_prompts.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    check_mtbench(rows, file)
    check_mtbench(rows, file.parent)
    import_family("mt-bench-single-reference", file)
    row = mtbench_row(rows, "single-math-v1")
    fields = {"question": QUESTION, "ref_answer_1": "R", "answer": ANSWERS[0]}
    ((_, (_, shown)),) = asked("mt-bench-single-reference", sample(1, reference="R"))
    assert shown == row["prompt_template"].format(**fields)
    import_family("mt-bench-single-two-turns", file)
    family = load_family("mt-bench-single")
    read = family.read([Completion(key="0", text="Good.\n\nRating: [[7]]")], sample(1), (0,))
    assert read.scores == (7.0,)
    assert "[The Start of Assistant's Answer]" in family.file.markers


@pytest.mark.data
def test_the_real_prompts_of_two_turns_have_a_reference_for_each(data_folder: Path) -> None:
    file = data_folder / "fastchat" / "llm_judge" / "judge_prompts.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    texts = {f"answer_{side}_{turn}": f"{side}{turn}" for side in "ab" for turn in (1, 2)}
    references = {"ref_answer_1": "First {ref}", "ref_answer_2": "Second"}
    questions = {"question_1": QUESTION, "question_2": "And then?"}

    def talk(side: str) -> Answer:
        first, second = texts[f"answer_{side}_1"], texts[f"answer_{side}_2"]
        turns = (
            Turn(role="assistant", text=first),
            Turn(role="user", text="And then?"),
            Turn(role="assistant", text=second),
        )
        return Answer(text=second, turns=turns)

    both = reference_of_turns(list(references.values()))
    pair = Sample(question=QUESTION, answers=(talk("a"), talk("b")), reference=both)
    import_family("mt-bench-pair-two-turns-reference", file)
    row = mtbench_row(rows, "pair-math-v1-multi-turn")
    wanted = row["prompt_template"].format(**questions, **references, **texts)
    assert asked("mt-bench-pair-two-turns-reference", pair) == [
        [("system", row["system_prompt"]), ("user", wanted)]
    ]
    import_family("mt-bench-single-two-turns-reference", file)
    row = mtbench_row(rows, "single-math-v1-multi-turn")
    wanted = row["prompt_template"].format(answer_1="a1", answer_2="a2", **questions, **references)
    alone = Sample(question=QUESTION, answers=(talk("a"),), reference=both)
    ((_, (_, shown)),) = asked("mt-bench-single-two-turns-reference", alone)
    assert shown == wanted
    one = alone.model_copy(update={"reference": "One for all."})
    with pytest.raises(MissingVariablesError, match="needs references"):
        asked("mt-bench-single-two-turns-reference", one)


def alpaca_asks(of: Sample) -> list[tuple[str, str]]:
    """Fill the prompt as AlpacaEval does, and split it into messages."""
    text = ALPACA_PROMPT
    fields = {"instruction": of.question, "output_1": of.answers[0].text}
    for name, value in (fields | {"output_2": of.answers[1].text}).items():
        text = text.replace("{" + name + "}", str(value), 1)
    parts = re.findall(r"<\|im_start\|>(\w+)\n(.*?)<\|im_end\|>", text, re.DOTALL)
    return [(role, said.strip()) for role, said in parts]


def test_alpaca_eval(peers: dict[str, Path]) -> None:
    pytest.importorskip("yaml")
    top = peers["alpaca-eval"]
    configs = top / "src/alpaca_eval/evaluators_configs"
    of = sample()
    for path, prompt in ((top, "ranker"), (configs, "ranker"), (configs / "ranker", None)):
        import_family("alpaca-eval", path, prompt=prompt)
        assert asked("alpaca-eval", of) == [alpaca_asks(of)]
    read = load_family("alpaca-eval").read
    reply = "[{'model': 'model_2', 'rank': 1}, {'model': 'model_1', 'rank': 2}]"
    assert read([Completion(key="0", text=reply)], of, (0, 1)).preference == "second"
    import_family("alpaca-eval", top, prompt="tokens", as_name="tokens")
    read = load_family("tokens").read
    assert read([Completion(key="0", text="M")], of, (0, 1)).preference == "second"
    import_family("alpaca-eval", top, prompt="patterns", as_name="patterns")
    read = load_family("patterns").read
    assert read([Completion(key="0", text="Output (a)")], of, (0, 1)).preference == "first"
    assert '"""' in load_family("alpaca-eval").file.markers


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        (None, "5 configurations; choose one with --prompt: batch, function, patterns"),
        ("nope", "no configuration 'nope'"),
        ("function", "asks for a function call"),
        ("batch", "shows several samples"),
    ],
)
def test_alpaca_eval_that_cannot_be_taken(
    prompt: str | None, words: str, peers: dict[str, Path]
) -> None:
    pytest.importorskip("yaml")
    with pytest.raises(FamilyError, match=re.escape(words)):
        import_family("alpaca-eval", peers["alpaca-eval"], prompt=prompt)


def test_judgebench(peers: dict[str, Path]) -> None:
    import jinja2

    for family, name in (
        ("judgebench-arena-hard", "arena_hard_judge_prompt"),
        ("judgebench-vanilla", "vanilla_prompt"),
    ):
        import_family(family, peers["judgebench"])
        text = JUDGEBENCH[name].replace("{{", "{{ ").replace("}}", " }}")
        environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
        wanted = environment.from_string(text).render(
            prompt="Q", question="Q", answer_a="One", answer_b="Two"
        )
        of = Sample(question="Q", answers=(Answer(text="One"), Answer(text="Two")))
        assert asked(family, of)[0][-1] == ("user", wanted)
    assert asked("judgebench-arena-hard", of)[0][0] == ("system", 'End with "[[A>B]]".')
    read = load_family("judgebench-arena-hard").read
    reply = Completion(key="0", text="My final verdict is: [[B>>A]]")
    assert read([reply], of, (0, 1)).preference == "second"


NOT_MADE_UP = {
    "auto-j-zh-pair", "auto-j-zh-single", "mt-bench-single-reference", "mt-bench-single-two-turns",
    "judgebench-skywork-critic", "judgebench-compass-judger", "mt-bench-pair-two-turns-reference",
    "mt-bench-single-two-turns-reference",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_attacks_do_not_change_the_shape_of_imported_prompts(
    name: str, peers: dict[str, Path]
) -> None:
    peer = next(key for key in peers if name.startswith(key))
    if name in NOT_MADE_UP:
        pytest.skip("the made-up peer has no such prompt")
    import_family(name, peers[peer])
    family = load_family(name)
    turns = needs_turns(family)
    honest = [shape_of(family, m) for m in family.prompts(sample_of(HONEST, turns=turns), (0, 1))]
    for attack_name, attack in attacks_on(family).items():
        hostile = sample_of(dict.fromkeys(FIELDS, attack), turns=turns)
        shapes = [shape_of(family, messages) for messages in family.prompts(hostile, (0, 1))]
        assert shapes == honest, attack_name


# A wording of no known peer.

GENERIC = {
    "plain.txt": 'Question: {question}\nA: {response_a}\nB: {response_b}\n{{"n": 1}}',
    "plain.jinja": 'Question: {{ question }}\nA: {{ answer_1 }}\nB: {{ answer_2 }}\n{"n": 1}\n',
    "plain.json": json.dumps(
        [{"name": "p", "text": 'Question: {question}\nA: {answer_1}\nB: {answer_2}\n{{"n": 1}}'}]
    ),
    "plain.py": "def ask(question, first, second):\n"
    '    return f"Question: {question}\\nA: {first}\\nB: {second}\\n{{\\"n\\": 1}}"\n',
}


@pytest.mark.parametrize("name", GENERIC)
def test_a_wording_of_ones_own(name: str, tmp_path: Path) -> None:
    write(tmp_path, GENERIC)
    imported = import_family("mine", tmp_path / name, like="pair")
    wanted = f'Question: {QUESTION}\nA: {ANSWERS[0]}\nB: {ANSWERS[1]}\n{{"n": 1}}'
    assert asked("mine", sample()) == [[("user", wanted)]]
    assert imported.has_score_mode
    verdict = load_family("mine").read([Completion(key="0", text="8 9")], sample(), (0, 1))
    assert verdict.scores == (8.0, 9.0)


def test_markers_are_told_as_templates_hold_them(tmp_path: Path) -> None:
    text = "{{Task 1 of 2\n{question}\n\nReply {{}} to it:\n{answer}\n### End {{1}}"
    imported = import_family("mine", write(tmp_path, {"p.txt": text}) / "p.txt", like="single")
    assert load_family("mine").file.markers == ("Task {n} of {n}", "to it:", "### End")
    assert not imported.notes
    bare = write(tmp_path, {"b.txt": "{question}\n{answer}"}) / "b.txt"
    (note,) = import_family("bare", bare, like="single").notes
    assert "could pass for another section" in note


def test_a_wording_with_places_of_its_own_names(tmp_path: Path) -> None:
    file = write(tmp_path, {"p.txt": "T: {the_task}\nX: {x}\n"}) / "p.txt"
    with pytest.raises(FamilyError, match="nothing here fills: 'the_task', 'x'"):
        import_family("mine", file, like="single")
    with pytest.raises(FamilyError, match="no variable of templates"):
        import_family("mine", file, like="single", slots={"the_task": "nope"})
    import_family("mine", file, like="single", slots={"the_task": "question", "x": "answer"})
    assert asked("mine", sample(1)) == [[("user", f"T: {QUESTION}\nX: {ANSWERS[0]}\n")]]


def test_one_of_several_prompts_is_chosen_by_name(tmp_path: Path) -> None:
    text = "P = {'a': 'A {question} {answer}', 'b': 'B {question} {answer}', 'c': 'no places'}"
    file = write(tmp_path, {"p.py": text}) / "p.py"
    with pytest.raises(FamilyError, match=re.escape("choose one with --prompt: 'P.a', 'P.b'")):
        import_family("mine", file, like="single")
    import_family("mine", file, like="single", prompt="b")
    assert asked("mine", sample(1))[0][0][1].startswith("B ")


# What goes wrong is told, and nothing is stored.


def refused(home: Path, words: str, *args: Any, **options: Any) -> None:
    with pytest.raises(FamilyError, match=re.escape(words)):
        import_family(*args, **options)
    stored = home / "families"
    assert not stored.exists() or not list(stored.iterdir())
    assert not list(home.glob(".import-*")) if home.exists() else True


def test_names_and_paths_that_mean_nothing(
    home: Path, peers: dict[str, Path], tmp_path: Path
) -> None:
    top = peers["judgelm"]
    refused(home, "did you mean 'judgelm'", "judgelmm", top)
    refused(home, "known: judgelm, judgelm-reference", "helpful", top)
    refused(home, "name one of them: mt-bench-pair", "mt-bench", peers["mt-bench"])
    refused(home, "no such file or folder", "judgelm", tmp_path / "nothing")
    refused(home, "judgelm/llm_judge/common.py is not there", "judgelm", peers["pandalm"])
    refused(
        home,
        "no text 'conv_judge_pair.system'",
        "judgelm",
        tmp_path / "pandalm/pandalm/utils/pandalm_inference.py",
    )
    refused(home, "is a family of the package", "mine", top, like="pair", as_name="pair")
    refused(home, "is a family of the package", "judgelm", top, as_name="judgelm-reference")
    refused(home, "must have the form", "judgelm", top, as_name="Judge LM")
    refused(home, "not a folder", "mine", top, like="pair")


def test_a_prompt_of_another_name(home: Path, peers: dict[str, Path]) -> None:
    top = peers["mt-bench"]
    refused(
        home, "prompts there: 'pair-v2', 'pair-math-v1'", "mt-bench-pair", top, prompt="pair-v3"
    )
    refused(home, "import 'mt-bench-single'", "mt-bench-pair", top, prompt="single-v1")


def test_a_prompt_with_other_places(home: Path, tmp_path: Path) -> None:
    def changed(old: str, new: str) -> Path:
        rows = "\n".join(json.dumps(row) for row in MTBENCH).replace(old, new)
        return write(tmp_path, {"judge_prompts.jsonl": rows}) / "judge_prompts.jsonl"

    refused(
        home,
        "nothing here fills: 'extra'",
        "mt-bench-pair",
        changed("{answer_a}", "{answer_a}{extra}"),
    )
    refused(home, "has no place for answer 2", "mt-bench-pair", changed("{answer_b}", ""))
    refused(home, "has no place for the question", "mt-bench-pair", changed("{question}", ""))
    refused(
        home, "has a format of its own", "mt-bench-pair", changed("{question}", "{question:>3}")
    )
    refused(home, "not a text for str.format", "mt-bench-pair", changed("{question}", "{question"))


def test_two_texts_of_one_name(home: Path, tmp_path: Path) -> None:
    again = AUTOJ + "\npairwise_tie = 'Other {prompt} {response} {response_another}'\n"
    file = write(tmp_path, {"constants_prompt.py": again}) / "constants_prompt.py"
    refused(home, "stands there 2 times with different words", "auto-j-pair", file)
    same = write(tmp_path, {"constants_prompt.py": AUTOJ + AUTOJ}) / "constants_prompt.py"
    import_family("auto-j-pair", same)


def test_wording_that_a_recipe_cannot_adapt(home: Path, tmp_path: Path) -> None:
    def changed(old: str, new: str) -> Path:
        return write(tmp_path, {"common.py": JUDGELM.replace(old, new)}) / "common.py"

    refused(home, "it should hold 'two'", "judgelm-n-way", changed("two", "2"))
    refused(home, "should end with '10'", "judgelm-single", changed(":10", ":9"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{question} \xff", "not UTF-8"),
        (b"\x00\x01{question}{answer}", "not a text file"),
        (b"nothing to fill", "no text with places"),
        ("{question} {answer} \ufdd0".encode(), "Unicode keeps from being text"),
        (b"{question}" + b" " * 17_000_000, "too large"),
    ],
)
def test_files_that_are_no_prompts(content: bytes, words: str, home: Path, tmp_path: Path) -> None:
    file = tmp_path / "p.txt"
    file.write_bytes(content)
    refused(home, words, "mine", file, like="single")


def test_a_wording_that_no_file_can_hold(home: Path, tmp_path: Path) -> None:
    file = write(tmp_path, {"p.py": r"P = '\ud800 {question} {answer}'"}) / "p.py"
    refused(home, "a character that no file can", "mine", file, like="single")


def test_a_family_of_the_users_own_is_not_replaced(home: Path, peers: dict[str, Path]) -> None:
    own = write(home / "families" / "mine", {"family.toml": 'name = "mine"\n'})
    with pytest.raises(FamilyError, match="a family of your own"):
        import_family("judgelm", peers["judgelm"], as_name="mine")
    assert (own / "family.toml").read_text() == 'name = "mine"\n'
    assert not import_family("judgelm", peers["judgelm"]).replaced
    assert import_family("judgelm", peers["judgelm"]).replaced
    assert sorted(path.name for path in home.iterdir()) == ["families"]


def test_an_imported_wording_takes_the_place_of_the_packages_own(peers: dict[str, Path]) -> None:
    ours = load_family("judgelm")
    import_family("judgelm", peers["judgelm"])
    theirs = load_family("judgelm")
    assert theirs.prompt_hash != ours.prompt_hash
    entries = {entry.name: entry for entry in list_families()}
    assert not entries["judgelm"].bundled
    assert entries["judgelm-reference"].bundled
    assert len([entry for entry in list_families() if entry.name == "judgelm"]) == 1
    again = import_family("judgelm", peers["judgelm"])
    assert load_family("judgelm").prompt_hash == theirs.prompt_hash
    assert again.name == "judgelm"


def test_where_it_is_from_is_kept(peers: dict[str, Path]) -> None:
    write(peers["judgelm"], {"LICENSE": "Apache License\nVersion 2.0, January 2004"})
    imported = import_family("judgelm", peers["judgelm"])
    source = load_family("judgelm").file.source
    assert source is not None
    assert source.file == "judgelm/llm_judge/common.py"
    assert source.sha256 == imported.origins[0].sha256
    assert re.fullmatch("[0-9a-f]{64}", source.sha256 or "")
    assert source.url == "https://github.com/baaivision/JudgeLM"
    assert (source.licence, imported.licence_note) == ("Apache-2.0", "by LICENSE beside it")
    told = import_family("judgelm", peers["judgelm"], licence="as agreed")
    assert (told.licence, told.licence_note) == ("as agreed", "as given")
    unknown = import_family("pandalm", peers["pandalm"])
    assert unknown.licence == "unknown"


def test_every_recipe_is_of_a_family_that_can_be_named() -> None:
    assert len(KNOWN) == len(set(KNOWN)) == len(RECIPES) + 1
    for recipe in RECIPES.values():
        assert re.fullmatch("[a-z0-9-]+", recipe.family)
        assert recipe.url.startswith("https://")


# The command.


@pytest.fixture
def command() -> None:
    """Register the command, should it not be so already."""
    registered = {each.name for each in families_command.app.registered_commands}
    if "import" not in registered:
        families_command.app.command("import", epilog=EXAMPLES)(import_command)


@pytest.mark.usefixtures("command")
def test_the_command_says_what_it_did(
    peers: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["families", "import", "judgelm-reference", str(peers["judgelm"])]) == 0
    told = capsys.readouterr().out
    for words in (
        "imported judgelm-reference into",
        "judgelm/llm_judge/common.py",
        "https://github.com/baaivision/JudgeLM",
        "unknown (no licence file beside it)",
        "reference <- reference",
        "samples need  reference",
        "magistrate families show judgelm-reference",
        "--judge hf:BAAI/JudgeLM-7B-v1.0#judgelm-reference",
    ):
        assert words in told
    assert main(["families", "show", "judgelm-reference"]) == 0


@pytest.mark.usefixtures("command")
def test_the_command_in_json_and_with_options(
    peers: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, {"p.txt": "{task}: {answer}"}) / "p.txt"
    arguments = ["mine", str(file), "--like", "single", "--slot", "task=question", "--as", "other"]
    code = main(["families", "import", *arguments, "--licence", "mine alone", "--json"])
    assert code == 0
    told = json.loads(capsys.readouterr().out)
    assert told["name"] == "other"
    assert told["slots"] == {"task": "question", "answer": "answer"}
    assert told["licence"] == "mine alone"
    assert set(told) == {
        "name", "folder", "peer", "prompt", "files", "url", "package", "commit", "licence",
        "licence_note", "slots", "needs", "reads_alone", "has_score_mode", "replaced", "notes",
    }  # fmt: skip
    assert isinstance(load_family("other"), TextFamily)


@pytest.mark.usefixtures("command")
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("nope", "."), 3, "no peer's family 'nope' is known"),
        (("judgelm", "nowhere"), 3, "no such file or folder"),
        (("judgelm", ".", "--slot", "question"), 2, "is not THEIRS=OURS"),
    ],
)
def test_the_command_tells_mistakes(
    arguments: tuple[str, ...], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["families", "import", *arguments]) == code
    told = capsys.readouterr()
    assert words in told.err
    assert "Traceback" not in told.err

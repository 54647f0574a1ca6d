"""The four studies end to end, on small made sets and scripted judges of known habits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from suites_help import LONG, SHORT, manifest, pair, write

import magistrate as mg
from magistrate.errors import FamilyError, InputError, MagistrateError
from magistrate.records import Answer, Gold, Sample
from magistrate.suites.report import BenchReport

BENCHMARK = {"name": "bench", "files": "bench.jsonl", "roles": ["benchmark", "varied"]}


def folder_of(tmp_path: Path, *sets: tuple[dict[str, Any], list[Sample]]) -> Path:
    """A data folder with these sets, each in a file of its name."""
    folder = tmp_path / "data"
    for entry, samples in sets:
        write(folder / str(entry["files"]), samples)
    manifest(folder, *(entry for entry, _ in sets))
    return folder


def entry(name: str, *roles: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "files": f"{name}.jsonl", "roles": list(roles), **more}


def mixed(longer: int, shorter: int) -> list[Sample]:
    """Pairs of which the longer answer is better so often, on alternating sides."""
    samples = []
    for number in range(longer + shorter):
        is_longer, is_first = number < longer, number % 2 == 0
        first, second = (LONG, SHORT) if is_longer == is_first else (SHORT, LONG)
        samples.append(pair(number, "first" if is_first else "second", first=first, second=second))
    return samples


# fairness


def test_fairness_by_llmbar_s_rule_and_beside_the_baselines(tmp_path: Path) -> None:
    data = folder_of(
        tmp_path,
        (entry("plain", "natural"), mixed(8, 2)),
        (entry("trap", "adversarial"), mixed(1, 9)),
        (entry("snare", "adversarial"), mixed(3, 7)),
    )
    report = mg.bench("scripted:longer", "fairness", data=data, out=tmp_path / "out")
    study = report.fairness
    assert study is not None
    assert [row.llmbar.average.value for row in study.sets] == [0.8, 0.1, 0.3]
    assert [row.result.baselines.longer.value for row in study.sets] == [0.8, 0.1, 0.3]
    assert all(row.result.over_longer.value == 0 for row in study.sets)
    assert study.adversarial.agreement.value == pytest.approx(0.2)
    assert study.adversarial.longer.value == pytest.approx(0.2)
    assert study.all_sets.agreement.value == pytest.approx(0.4)
    assert study.adversarial.agreement.n == 20
    low, high = study.adversarial.agreement.low, study.adversarial.agreement.high
    assert low is not None
    assert high is not None
    assert 0 < low < 0.2 < high < 0.5
    assert study.sets[0].llmbar.equal.value == 1.0


def test_a_judge_that_always_says_first_is_never_right_in_both_orders(tmp_path: Path) -> None:
    data = folder_of(tmp_path, (entry("plain", "natural"), mixed(6, 4)))
    report = mg.bench("scripted:first", "fairness", data=data, out=tmp_path / "out")
    assert report.fairness is not None
    row = report.fairness.sets[0]
    assert (row.llmbar.given.value, row.llmbar.swapped.value) == (0.5, 0.5)
    assert (row.llmbar.both.value, row.llmbar.equal.value) == (0.0, 0.0)
    assert (row.result.consistency.value, row.result.toward_first.value) == (0.0, 1.0)
    # The two orders cancel out to a tie, which counts half here and nothing by LLMBar's rule.
    assert row.result.ties.value == 1.0
    assert row.result.agreement.value == 0.5


def test_what_fails_is_counted_and_wrong_by_llmbar_s_rule_alone(tmp_path: Path) -> None:
    data = folder_of(tmp_path, (entry("plain", "natural"), mixed(40, 0)))
    judge = "scripted:longer,nonsense=0.3"
    report = mg.bench(judge, "fairness", data=data, out=tmp_path / "out")
    assert report.fairness is not None
    row = report.fairness.sets[0]
    lost = row.result.not_ok.value
    assert lost is not None
    assert 0.2 < lost < 0.8
    assert row.result.agreement.value == 1.0
    assert row.result.agreement.n == 40 - round(40 * lost)
    assert row.result.baselines.longer.n == 40
    assert row.llmbar.average.value is not None
    assert row.llmbar.average.value < 1.0
    assert any("readings that are not ok: unparsed, no_verdict" in n for n in row.result.notes)


# runs, draws, files


def test_a_second_call_judges_nothing_and_a_larger_limit_only_adds(tmp_path: Path) -> None:
    data = folder_of(tmp_path, (entry("plain", "natural"), mixed(10, 10)))
    out = tmp_path / "out"
    first = mg.bench("scripted:longer", "fairness", data=data, out=out, limit=5)
    run = out / "fairness" / "plain"
    lines = (run / "judgments.jsonl").read_bytes()
    again = mg.bench("scripted:longer", "fairness", data=data, out=out, limit=5)
    assert (run / "judgments.jsonl").read_bytes() == lines
    assert again == first
    assert first.fairness is not None
    assert (first.fairness.sets[0].result.pairs, first.fairness.sets[0].result.available) == (5, 20)
    assert "Plain" not in str(first)
    assert "plain 5 of 20" in str(first)
    more = mg.bench("scripted:longer", "fairness", data=data, out=out, limit=8)
    assert (run / "judgments.jsonl").read_bytes().startswith(lines)
    assert more.fairness is not None
    assert more.fairness.sets[0].result.pairs == 8
    # A smaller limit takes the run as it is, and says how many pairs that is.
    less = mg.bench("scripted:longer", "fairness", data=data, out=out, limit=2)
    assert less.fairness is not None
    assert less.fairness.sets[0].result.pairs == 8


def test_another_judge_does_not_share_the_folder(tmp_path: Path) -> None:
    data = folder_of(tmp_path, (entry("plain", "natural"), mixed(2, 2)))
    mg.bench("scripted:longer", "fairness", data=data, out=tmp_path / "out")
    with pytest.raises(mg.MagistrateError, match="holds another run"):
        mg.bench("scripted:first", "fairness", data=data, out=tmp_path / "out")
    out = tmp_path / "out"
    report = mg.bench("scripted:first", "fairness", data=data, out=out, start_over=True)
    assert report.fairness is not None
    assert report.fairness.sets[0].result.ties.value == 1.0
    assert len(list((out / "fairness").iterdir())) == 2


def test_studies_of_earlier_calls_stay_in_the_report(tmp_path: Path) -> None:
    data = folder_of(tmp_path, (entry("plain", "natural", "benchmark"), mixed(2, 2)))
    out = tmp_path / "out"
    mg.bench("scripted:longer", "fairness", data=data, out=out)
    both = mg.bench("scripted:longer", "generalise", data=data, out=out)
    assert [study.name for study in both.studies] == ["generalise", "fairness"]
    stored = json.loads((out / "bench.json").read_text("utf-8"))
    assert BenchReport.model_validate(stored) == both
    text = (out / "bench.md").read_text("utf-8")
    assert text.index("## generalise") < text.index("## fairness")
    alone = mg.bench("scripted:longer", "generalise", data=data, out=out, limit=4)
    assert alone.fairness is None


def test_missing_sets_and_broken_files_are_named_and_the_others_judged(tmp_path: Path) -> None:
    data = folder_of(tmp_path, (entry("plain", "natural"), mixed(2, 2)))
    (data / "broken.jsonl").write_text("{", "utf-8")
    manifest(
        data,
        entry("plain", "natural"),
        entry("broken", "adversarial"),
        entry("gone", "adversarial"),
    )
    report = mg.bench("scripted:longer", "fairness", data=data, out=tmp_path / "out")
    study = report.fairness
    assert study is not None
    assert [row.result.set for row in study.sets] == ["plain"]
    assert len(study.missing) == 1
    assert study.missing[0].startswith("gone: no gone.jsonl")
    assert len(study.cannot) == 1
    assert study.cannot[0].startswith("broken: ")
    assert "missing: gone" in str(report)
    assert study.adversarial.agreement.value is None


def test_text_of_data_is_no_markup_in_the_report(tmp_path: Path) -> None:
    title = "<img src=x onerror=alert(1)> | [red]"
    data = folder_of(tmp_path, (entry("plain", "natural", title=title), mixed(2, 2)))
    mg.bench("scripted:longer", "fairness", data=data, out=tmp_path / "out")
    text = (tmp_path / "out" / "bench.md").read_text("utf-8")
    assert "<img" not in text
    assert "&lt;img src=x onerror=alert(1)&gt; \\| [red]" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"suite": "speed"}, "no suite 'speed'"),
        ({"limit": 0}, "limit is 0"),
        ({"limit": True}, "limit is True"),
        ({"classify": "scripted:longer"}, "categories"),
        ({"sets": ["nowhere"]}, "no data set 'nowhere'"),
        ({"in_domain": ["nowhere"]}, "no data set 'nowhere'"),
    ],
)
def test_mistakes_are_told_before_anything_is_judged(
    tmp_path: Path, arguments: dict[str, Any], said: str
) -> None:
    data = folder_of(tmp_path, (entry("plain", "natural"), mixed(2, 2)))
    with pytest.raises(MagistrateError, match=said):
        mg.bench("scripted:longer", data=data, out=tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()


# generalise


def test_domains_and_their_gap(tmp_path: Path) -> None:
    data = folder_of(
        tmp_path,
        (entry("home", "benchmark"), mixed(9, 1)),
        (entry("away", "benchmark"), mixed(4, 6)),
        (entry("far", "benchmark"), mixed(6, 4)),
    )
    report = mg.bench(
        "scripted:longer", "generalise", data=data, out=tmp_path / "out", in_domain=["home"]
    )
    study = report.generalise
    assert study is not None
    assert [row.domain for row in study.sets] == ["in-domain", "out-of-domain", "out-of-domain"]
    assert study.in_domain.value == pytest.approx(0.9)
    assert study.out_of_domain.value == pytest.approx(0.5)
    assert study.gap.value == pytest.approx(0.4)
    assert study.gap.low is not None
    assert study.gap.low < 0.4
    assert study.mean.value == pytest.approx(19 / 30)
    assert study.cannot == ()


def test_without_a_domain_of_its_own_there_is_no_such_comparison(tmp_path: Path) -> None:
    data = folder_of(tmp_path, (entry("home", "benchmark"), mixed(3, 1)))
    report = mg.bench("scripted:longer", "generalise", data=data, out=tmp_path / "out")
    study = report.generalise
    assert study is not None
    assert study.sets[0].domain == "not known"
    assert study.gap.value is None
    assert any("--in-domain" in said for said in study.cannot)


def test_schemes_and_prompts_are_compared_on_the_same_pairs(tmp_path: Path) -> None:
    data = folder_of(tmp_path, (BENCHMARK, mixed(8, 2)))
    report = mg.bench(
        "scripted:longer",
        "generalise",
        data=data,
        out=tmp_path / "out",
        families=["judgelm", "pandalm", "no-such-family"],
    )
    study = report.generalise
    assert study is not None
    together, alone = study.schemes
    assert (together.result.family, alone.result.family) == ("pair", "single")
    # Alone, the rule 'longer' finds no answer longer than itself: all grades are the same.
    assert alone.result.ties.value == 1.0
    assert alone.difference.value == pytest.approx(0.5 - 0.8)
    assert alone.result.consistency_basis == "by construction"
    assert alone.same.value == 0.0
    assert [row.result.family for row in study.prompts] == ["pair", "judgelm", "pandalm"]
    assert [row.same.value for row in study.prompts] == [1.0, 1.0, 1.0]
    assert any("no family 'no-such-family'" in said for said in study.cannot)
    assert {path.name for path in (tmp_path / "out" / "generalise").iterdir()} == {
        "bench",
        "bench.alone",
        "bench.judgelm",
        "bench.pandalm",
    }


def test_a_judge_of_single_answers_is_compared_with_pairs(tmp_path: Path) -> None:
    data = folder_of(tmp_path, (BENCHMARK, mixed(3, 1)))
    report = mg.bench("scripted:longer#single", "generalise", data=data, out=tmp_path / "out")
    assert report.generalise is not None
    together, alone = report.generalise.schemes
    assert (together.result.family, alone.result.family) == ("pair", "single")
    assert together.difference.value == pytest.approx(0.75 - 0.5)


def test_a_scoring_head_cannot_be_asked_otherwise(tmp_path: Path) -> None:
    data = folder_of(
        tmp_path, (BENCHMARK, mixed(2, 1)), (entry("q", "aspect", rubric="Be kind."), mixed(1, 1))
    )
    report = mg.bench("mini", data=data, out=tmp_path / "out", limit=2)
    assert report.generalise is not None
    assert report.aspects is not None
    assert report.scalability is not None
    assert report.generalise.schemes == report.generalise.prompts == ()
    said = " ".join(report.generalise.cannot + report.scalability.cannot)
    assert "has a scoring head" in said
    assert "asked in one way only" in said
    assert "can neither reason before its verdict" in said
    assert [row.row.result.variant for row in report.aspects.pairs] == ["plain"]
    assert "shows no rubric" in report.aspects.cannot[0]
    assert [row.result.variant for row in report.scalability.ways] == ["zero-shot"]


def test_agreement_by_category_and_out_of_distribution(tmp_path: Path) -> None:
    home = [pair(n, "first" if n % 2 else "second", category="facts") for n in range(4)]
    away = [pair(n, "first", category="facts") for n in range(10, 16)]
    away += [pair(n, "second", category="law") for n in range(20, 24)]
    data = folder_of(
        tmp_path, (entry("home", "in-domain"), home), (entry("away", "benchmark"), away)
    )
    report = mg.bench("scripted:longer", "generalise", data=data, out=tmp_path / "out")
    study = report.generalise
    assert study is not None
    # One category alone is no breakdown.
    assert [(row.set, row.category, row.pairs) for row in study.categories] == [
        ("away", "facts", 6),
        ("away", "law", 4),
    ]
    assert [row.agreement.value for row in study.categories] == [1.0, 0.0]
    (found,) = study.out_of_distribution
    assert (found.set, found.samples, found.unseen.value, found.absent.value) == (
        "away",
        10,
        0.4,
        0.4,
    )
    assert (found.seen_agreement.value, found.unseen_agreement.value) == (1.0, 0.0)
    assert found.difference.value == 1.0


# aspects


def answers(good: int, bad: int) -> list[Sample]:
    """Single answers; the good ones are longer, all but one."""
    samples = []
    for number in range(good + bad):
        is_good = number < good
        text = LONG if is_good and number else SHORT
        samples.append(
            Sample(
                question=f"Question {number}?",
                answers=(Answer(text=f"{text} {number}"),),
                gold=(Gold(label="no" if is_good else "yes"),),
            )
        )
    return samples


def test_single_answers_with_a_label(tmp_path: Path) -> None:
    made = entry(
        "made",
        "aspect",
        aspect="factuality",
        holds="answers",
        good_label="no",
        rubric="Truth alone.",
    )
    data = folder_of(tmp_path, (made, answers(6, 4)))
    report = mg.bench("scripted:random", "aspects", data=data, out=tmp_path / "out")
    assert report.aspects is not None
    plain, rubric = report.aspects.answers
    assert (plain.variant, rubric.variant, plain.family) == ("plain", "rubric", "single")
    assert (plain.scores.n, plain.scores.positives, plain.labelled) == (10, 6, 10)
    assert plain.scores.majority_class.value == 0.6
    # 5 of 6 good answers are longer than every bad one, and one is as short or shorter.
    assert plain.longer.auroc.value is not None
    assert 5 / 6 <= plain.longer.auroc.value <= 1
    # Without ties a coin's AUROC has a spread of sqrt(11 / (12 * 6 * 4)).
    assert plain.random.value == 0.5
    assert plain.random.low == pytest.approx(0.5 - 1.96 * (11 / 288) ** 0.5, abs=1e-4)
    # Another prompt is another draw of the scripted judge: the rubric stood in it.
    assert plain.scores.auroc.value != rubric.scores.auroc.value
    assert "tuned on test" in str(report)


# scalability


def test_ways_of_asking_and_demonstrations_that_are_never_judged(tmp_path: Path) -> None:
    judged = mixed(6, 2)
    pool = [*judged, *[pair(n, "first" if n % 2 else "second") for n in range(50, 60)]]
    data = folder_of(tmp_path, (BENCHMARK, judged), (entry("pool", "demonstrations"), pool))
    report = mg.bench("scripted:longer", "scalability", data=data, out=tmp_path / "out")
    study = report.scalability
    assert study is not None
    assert [row.result.variant for row in study.ways] == [
        "zero-shot",
        "reasons first",
        "2 demonstrations",
    ]
    assert [row.result.family for row in study.ways] == ["pair", "pair-reasons-first", "pair"]
    assert [row.result.mode for row in study.ways] == ["score", "reason", "score"]
    assert len(study.demonstrations) == 2
    assert not {sample.text_id for sample in judged} & set(study.demonstrations)
    spec = mg.open_run(study.ways[2].result.run).manifest.judge
    assert spec.settings["demonstrations"] == list(study.demonstrations)
    tokens = [row.result.usage.prompt_tokens for row in study.ways]
    assert tokens[2] > tokens[0]


def test_without_demonstrations_the_rest_is_done(tmp_path: Path) -> None:
    data = folder_of(tmp_path, (BENCHMARK, mixed(2, 2)))
    report = mg.bench("scripted:longer", "scalability", data=data, out=tmp_path / "out")
    assert report.scalability is not None
    assert len(report.scalability.ways) == 2
    assert any("--demonstrations" in said for said in report.scalability.cannot)


def test_judges_are_compared_by_their_training_size(tmp_path: Path) -> None:
    data = folder_of(tmp_path, (BENCHMARK, mixed(2, 1)))
    bundled = next(judge for judge in mg_judges() if judge.name == "mini").folder
    folders = []
    for name, size in (("large", 2000), ("small", 500)):
        folder = tmp_path / name
        folder.mkdir()
        for file in bundled.iterdir():
            if file.name != "judge.toml":
                (folder / file.name).symlink_to(file)
        text = (bundled / "judge.toml").read_text("utf-8")
        (folder / "judge.toml").write_text(f"{text}training_pairs = {size}\n", "utf-8")
        folders.append(str(folder))
    report = mg.bench(
        "mini", "scalability", data=data, out=tmp_path / "out", judges=folders, limit=2
    )
    assert report.scalability is not None
    small, large = report.scalability.sizes
    assert (small.size, large.size, small.unit) == (500, 2000, "pairs")
    assert small.over_least.value is None
    # The two have the same weights.
    assert large.over_least.value == 0.0
    assert large.mean == small.mean


def mg_judges() -> list[Any]:
    from magistrate.judging.resolve import list_judges

    return list(list_judges())


def test_a_head_cannot_name_categories(tmp_path: Path) -> None:
    data = folder_of(tmp_path, (BENCHMARK, mixed(1, 1)))
    with pytest.raises(FamilyError, match="cannot name categories"):
        mg.bench(
            "scripted:longer",
            "generalise",
            data=data,
            out=tmp_path / "out",
            classify="mini",
            categories=["a", "b"],
        )


def test_a_manifest_without_usable_data_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        mg.bench("scripted:longer", data=tmp_path, out=tmp_path / "out")

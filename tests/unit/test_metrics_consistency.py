"""Consistency and position bias by hand-counted cases."""

from magistrate.metrics.consistency import measure_consistency
from magistrate.records import Decision, Judgment, Preference


def read(sample: int, reversed_: bool, preference: Preference | None, repeat: int = 0) -> Judgment:
    return Judgment(
        key=f"{sample:08x}{int(reversed_)}{repeat:07x}ffffffff",
        sample_id=f"{sample:x}",
        judge="j",
        order=(1, 0) if reversed_ else (0, 1),
        repeat=repeat,
        status="ok" if preference else "unparsed",
        preference=preference,
    )


def decide(row: int, *judgments: Judgment) -> Decision:
    ok = all(j.status == "ok" for j in judgments)
    orders = {j.order for j in judgments}
    return Decision(
        row=row,
        sample_id=judgments[0].sample_id,
        status="ok" if ok else "unparsed",
        preference=judgments[0].preference if ok else None,
        consistent=len({j.preference for j in judgments}) == 1 if ok and len(orders) > 1 else None,
        rule="r",
        keys=tuple(j.key for j in judgments),
    )


def test_shares_follow_judgelm() -> None:
    verdicts: list[tuple[Preference, Preference]] = [
        ("first", "first"),  # consistent
        ("tie", "tie"),  # consistent
        ("first", "second"),  # shown first wins both times
        ("first", "tie"),  # gains by standing first
        ("second", "first"),  # shown second wins both times
    ]
    readings = [(read(i, False, a), read(i, True, b)) for i, (a, b) in enumerate(verdicts)]
    judgments = [j for both in reversed(readings) for j in both]
    result = measure_consistency(judgments, [decide(i, *both) for i, both in enumerate(readings)])
    assert result.basis == "measured"
    assert (result.consistent.value, result.consistent.n) == (2 / 5, 5)
    assert (result.toward_first.value, result.toward_second.value) == (2 / 5, 1 / 5)


def test_a_failed_order_is_left_out_not_called_inconsistent() -> None:
    good, bad = (
        (read(0, False, "first"), read(0, True, "first")),
        (read(1, False, "first"), read(1, True, None)),
    )
    result = measure_consistency([*good, *bad], [decide(0, *good), decide(1, *bad)])
    assert (result.consistent.value, result.consistent.n) == (1.0, 1)


def test_samples_of_equal_text_share_readings_and_count_each() -> None:
    both = (read(0, False, "first"), read(0, True, "second"))
    result = measure_consistency(both, [decide(0, *both), decide(1, *both)])
    assert (result.toward_first.value, result.toward_first.n) == (1.0, 2)


def test_repeats_are_averaged_within_an_order() -> None:
    readings = (
        read(0, False, "first"),
        read(0, False, "second", 1),
        read(0, True, "second"),
        read(0, True, "second", 1),
    )
    result = measure_consistency(readings, [decide(0, *readings)])
    assert result.consistent.value == 0.0
    assert result.toward_first.value == 1.0


def test_one_order_is_not_measured_and_reading_alone_is_by_construction() -> None:
    once = read(0, False, "first")
    assert measure_consistency([once], [decide(0, once)]).basis == "not measured"
    alone = measure_consistency([once], [decide(0, once)], reads_alone=True)
    assert (alone.basis, alone.consistent.n) == ("by construction", 0)


def test_rankings_count_through_their_decision() -> None:
    decision = Decision(
        row=0, sample_id="s", status="ok", ranking=(1, 2, 3), consistent=True, rule="r"
    )
    result = measure_consistency([], [decision])
    assert (result.consistent.value, result.consistent.n, result.toward_first.n) == (1.0, 1, 0)

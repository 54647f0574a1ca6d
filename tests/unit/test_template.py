"""Templates: what they may use, what is missing, and data that never passes through Jinja."""

from __future__ import annotations

from typing import Any

import pytest

from magistrate.errors import FamilyError, MissingVariablesError
from magistrate.messages import Message, Part
from magistrate.prompts.template import MessageTemplate, Template


def make(*sources: str) -> Template:
    roles = ("system", "user", "assistant")
    return Template(
        "fam",
        [
            MessageTemplate(role, source, f"family.toml, message {place}")  # type: ignore[arg-type]
            for place, (role, source) in enumerate(zip(roles, sources, strict=False), 1)
        ],
    )


def render(source: str, **values: Any) -> tuple[Part, ...]:
    (message,) = make(source).render(values, sample="s1")
    return message.parts


QUESTION = Part("What is {{ 1 + 1 }}?", "question")


def test_data_and_own_words_come_apart() -> None:
    parts = render(
        "Q: {{ question }}\nA: {{ answer }}!", question=QUESTION, answer=Part("2", "answer")
    )
    assert parts == (Part("Q: "), QUESTION, Part("\nA: "), Part("2", "answer"), Part("!"))


@pytest.mark.parametrize(
    "text",
    [
        "{{ question }}",
        "{% if x %}",
        "{# c #}",
        "{}",
        "%s",
        "\ufdd00\ufdd1",
        "\ufdd2x\ufdd3",
        "",
        "\ud800",
    ],
)
def test_data_stays_verbatim(text: str) -> None:
    datum = Part(text, "answer")
    assert render("a{{ answer }}b", answer=datum) == (Part("a"), datum, Part("b"))


def test_messages_keep_their_roles_and_last_newlines() -> None:
    messages = make("Grade.\n", "{{ question }}\n\n").render({"question": QUESTION}, sample="s1")
    assert messages == (
        Message("system", (Part("Grade.\n"),)),
        Message("user", (QUESTION, Part("\n\n"))),
    )


def test_loops_conditions_and_numbers() -> None:
    source = (
        "{% for answer in answers %}<{{ loop.index }} of {{ count }}>{{ answer }}{% endfor %}"
        "{% if reference %}R{{ reference }}{% endif %}{% if rubric is defined %}!{% endif %}"
    )
    parts = render(source, answers=(Part("x", "answer_1"), Part("y", "answer_2")), count=2)
    assert "".join(part.text for part in parts) == "<1 of 2>x<2 of 2>y"


def test_all_missing_fields_of_the_branches_taken_are_named_at_once() -> None:
    template = make(
        "{{ rubric }}{% if question %}{{ reference }}{{ reference }}{% else %}{{ answer }}"
        "{% endif %}",
        "{{ question }} {{ answer_3 }}",
    )
    with pytest.raises(MissingVariablesError) as caught:
        template.render({"question": QUESTION}, sample="'7'")
    assert caught.value.missing == ("rubric", "reference", "answer_3")
    assert "family 'fam' needs rubric, reference, answer_3, which sample '7'" in str(caught.value)


def test_unknown_variables_are_all_named_when_the_template_is_loaded() -> None:
    with pytest.raises(FamilyError) as caught:
        make("{{ qestion }} {{ nonsense }} {{ answer_0 }}")
    message = str(caught.value)
    assert message.startswith("family.toml, message 1: unknown variables answer_0")
    assert "qestion (did you mean question?)" in message
    assert "nonsense" in message


def test_bad_syntax_names_file_and_line() -> None:
    with pytest.raises(FamilyError, match=r"family\.toml, message 1, line 2: not valid Jinja2"):
        make("fine\n{% if question %}")


@pytest.mark.parametrize(
    "source",
    [
        "{{ question|upper }}",
        "{{ question ~ 'x' }}",
        "{{ question|length }}",
        "{{ 'x%s'|format(question) }}",
        "{{ reference|trim }}",
        "{{ reference.text }}",
        "{{ question.text }}",
        "{{ answers }}",
        "{{ none }}",
        "{{ true }}",
        "{{ 1 / 0 }}",
        "{% include 'other' %}",
        "{{ question() }}",
        "{{ self }}",
        "{{ self.question }}",
        "{% set x %}{{ question }}{% endset %}{{ x|replace('0', '7') }}",
        "{% set x %}{{ question }}{% endset %}{{ x[:1] }}",
    ],
)
def test_what_a_template_cannot_do_is_a_clear_error(source: str) -> None:
    with pytest.raises(FamilyError, match=r"^family\.toml, message 1: "):
        render(source, question=QUESTION, answers=())


@pytest.mark.parametrize(
    "source",
    [
        "{{ question._index }}",
        "{{ question.__class__ }}",
        "{{ question.__class__.__mro__ }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ count.__class__ }}",
        "{{ answers.__class__ }}",
        "{{ reference.__init__ }}",
        "{{ answers.append(1) }}",
        "{{ ''|attr('__class__') }}",
        "{{ '{0.__class__}'.format(count) }}",
    ],
)
def test_templates_reach_no_python_objects(source: str) -> None:
    with pytest.raises(FamilyError):
        render(source, question=QUESTION, answers=(QUESTION,), count=1)


@pytest.mark.parametrize("name", ["range", "lipsum", "dict", "cycler", "namespace", "request"])
def test_templates_have_no_globals(name: str) -> None:
    with pytest.raises(FamilyError, match="unknown variable"):
        make(f"{{{{ {name} }}}}")


def test_templates_hold_no_marks_of_data() -> None:
    with pytest.raises(FamilyError, match=r"U\+FDD0"):
        make("\ufdd00\ufdd1")


@pytest.mark.parametrize("source", ["{{ '\\ufdd07\\ufdd1' }}", "{{ '\\ufdd0' }}{{ question }}"])
def test_templates_cannot_forge_marks(source: str) -> None:
    with pytest.raises(FamilyError):
        render(source, question=QUESTION)


def test_nothing_is_html_escaped() -> None:
    datum = Part("a < b & 'c'", "answer")
    assert render("<x>&{{ answer }}", answer=datum) == (Part("<x>&"), datum)

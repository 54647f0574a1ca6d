"""Texts as vectors, and how far two sets of texts are apart.

Vectors are TF-IDF of words and pairs of words, reduced by a truncated singular value decomposition
(latent semantic analysis); or the mean of a sentence encoder's last layer where the user names one.
All are of length 1, so that the dot product is the cosine.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from magistrate.errors import EngineError, MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DIMENSIONS = 100
MOST_WORDS = 50_000
MOST_MEASURED = 2_000
"""Texts of each set that distances are measured on; of larger sets a draw."""

_FOLDS = 5
_ROWS_AT_ONCE = 512
_ENCODER_BATCH = 32
_ENCODER_TOKENS = 256
# Scripts without blanks between words: each character is a word, and bigrams make the rest.
_WORD = (
    r"(?u)[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)


def vectorise(
    *sets: Sequence[str], encoder: str | None = None, dimensions: int = DIMENSIONS, seed: int = 0
) -> list[Floats]:
    """Return the vectors of some sets of texts, in one space.

    Args:
        sets: Texts.
        encoder: A sentence encoder, as transformers loads it; None for TF-IDF and SVD, fitted on
            all the texts.
        dimensions: Of the space; fewer where there are few texts.
        seed: Of the decomposition.

    Returns:
        For each set an array of shape (texts, dimensions), rows of length 1 (or 0 for texts without
        a word).

    Raises:
        MissingExtraError: An encoder needs the packages of extra ``hf``.
        EngineError: The encoder cannot be loaded.
    """
    import numpy as np

    texts = [text for each in sets for text in each]
    vectors = _encoded(texts, encoder) if encoder else _reduced(texts, dimensions, seed)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = vectors / np.where(lengths > 0, lengths, 1)
    ends = np.cumsum([len(each) for each in sets])[:-1]
    return list(np.split(vectors, ends))


def share_nearer(texts: Sequence[str], questions: Sequence[str], own: Sequence[int]) -> list[float]:
    """Return for each text the share of the other questions that are nearer to it than its own.

    Nearness is the cosine of TF-IDF over words (English function words left out): 0 for the text
    that is nearest to its own question, 1 for one that is nearer to all others.

    Args:
        texts: Such as references.
        questions: Two or more.
        own: For each text the place of its question.
    """
    import numpy as np

    matrix = _tf_idf([*texts, *questions], words_only=True)
    aims = matrix[len(texts) :].T
    found: list[float] = []
    for start in range(0, len(texts), _ROWS_AT_ONCE):
        block = (matrix[start : min(start + _ROWS_AT_ONCE, len(texts))] @ aims).toarray()
        places = np.asarray(own[start : start + _ROWS_AT_ONCE])
        of_own = block[np.arange(len(block)), places]
        nearer = (block > of_own[:, None] + 1e-12).sum(axis=1)
        found += (nearer / (len(questions) - 1)).tolist()
    return found


def energy_distance(first: Floats, second: Floats, seed: int = 0) -> float | None:
    """Return the energy distance of two samples of vectors (Székely and Rizzo 2013, equation 6).

    2 E|X - Y| - E|X - X'| - E|Y - Y'|, with Euclidean norms and without the pairs of a vector with
    itself: 0 in expectation for samples of one distribution, so it can come out a little negative.
    None for fewer than two vectors on a side.
    """
    from scipy.spatial.distance import cdist, pdist

    if len(first) < 2 or len(second) < 2:
        return None
    first, second = _some(first, seed), _some(second, seed + 1)
    return float(2 * cdist(first, second).mean() - pdist(first).mean() - pdist(second).mean())


def auroc_between(first: Sequence[str], second: Sequence[str], seed: int = 0) -> float | None:
    """Return how well a classifier tells two sets of texts apart: 0.5 not at all, 1 always.

    Logistic regression on TF-IDF of characters, five-fold cross-validated: other features than
    those of :func:`vectorise`, so that sets which were matched by those are not measured by them.
    None for fewer than five texts on a side.
    """
    import numpy as np

    if min(len(first), len(second)) < _FOLDS:
        return None
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline

    rng = np.random.default_rng(seed)
    kept = [
        [each[i] for i in np.sort(rng.permutation(len(each))[:MOST_MEASURED])]
        for each in (first, second)
    ]
    labels = np.repeat([0, 1], [len(each) for each in kept])
    model = make_pipeline(
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), max_features=MOST_WORDS),
        LogisticRegression(class_weight="balanced", max_iter=1000),
    )
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    scores = cross_val_predict(
        model,
        [text for each in kept for text in each],
        labels,
        cv=folds,
        method="decision_function",
    )
    return float(roc_auc_score(labels, scores))


def _some(vectors: Floats, seed: int) -> Floats:
    import numpy as np

    if len(vectors) <= MOST_MEASURED:
        return vectors
    return vectors[np.random.default_rng(seed).permutation(len(vectors))[:MOST_MEASURED]]


def _tf_idf(texts: Sequence[str], *, words_only: bool = False) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectoriser = TfidfVectorizer(
        token_pattern=_WORD,
        ngram_range=(1, 1 if words_only else 2),
        sublinear_tf=True,
        max_features=MOST_WORDS,
        stop_words="english" if words_only else None,
    )
    try:
        return vectoriser.fit_transform(texts)
    except ValueError:  # not one word in all the texts
        from scipy.sparse import csr_matrix

        return csr_matrix((len(texts), 1))


def _reduced(texts: Sequence[str], dimensions: int, seed: int) -> Floats:
    from sklearn.decomposition import TruncatedSVD

    matrix = _tf_idf(texts)
    wanted = min(dimensions, min(matrix.shape) - 1)
    if wanted < 2:
        dense: Floats = matrix.toarray()
        return dense
    found: Floats = TruncatedSVD(wanted, random_state=seed).fit_transform(matrix)
    return found


def _encoded(texts: Sequence[str], name: str) -> Floats:
    """Return the mean of the last layer over each text's tokens."""
    import numpy as np

    for package in ("torch", "transformers"):
        if find_spec(package) is None:
            raise MissingExtraError("a sentence encoder", "hf", package)
    import torch
    from transformers import AutoModel, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        model = AutoModel.from_pretrained(name).eval()
    except (OSError, ValueError) as error:
        raise EngineError(f"the encoder '{name}' cannot be loaded: {error}") from error
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    found = []
    for start in range(0, len(texts), _ENCODER_BATCH):
        batch = tokenizer(
            [text or " " for text in texts[start : start + _ENCODER_BATCH]],
            padding=True,
            truncation=True,
            max_length=_ENCODER_TOKENS,
            return_tensors="pt",
        )
        with torch.inference_mode():
            states = model(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1)
        mean = (states * mask).sum(1) / mask.sum(1).clamp(min=1)
        found.append(mean.double().numpy())
    return np.concatenate(found) if found else np.zeros((0, 1))

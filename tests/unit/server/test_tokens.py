"""Tokens: made once, made again for who may have them, and never read out of what is kept."""

from __future__ import annotations

import pytest

from coordinator.core.ids import ApplicationId
from coordinator.server import tokens

APP = ApplicationId("one")
PROOF = "a proof that is long enough to be taken"


def test_what_is_kept_is_neither_token_nor_proof() -> None:
    minted = tokens.mint(APP, "", PROOF, "mint")
    assert len(minted.token) >= 43
    assert minted.token not in minted.kept
    assert PROOF not in minted.kept
    assert tokens.matches(minted.token, minted.kept)
    assert not tokens.matches(minted.kept, minted.kept)


def test_the_proof_makes_the_token_again_and_nothing_else_does() -> None:
    minted = tokens.mint(APP, "1", PROOF, "mint")
    assert tokens.made_again(APP, "1", PROOF, minted.kept) == minted.token
    for application, attempt, proof in (
        (APP, "1", PROOF + "x"),
        (APP, "1", ""),
        (APP, "2", PROOF),
        ("two", "1", PROOF),
    ):
        assert tokens.made_again(ApplicationId(application), attempt, proof, minted.kept) == ""


def test_applications_with_the_same_proof_have_different_tokens() -> None:
    made = {tokens.mint(ApplicationId(name), "", PROOF, tokens.new_text()).token for name in ("one", "two", "two")}
    assert len(made) == 3


@pytest.mark.parametrize("shown", ["", "s3cre", "S3CRET", "s3cret "])
def test_a_token_is_compared_whole(shown: str) -> None:
    kept = tokens.hash_of("s3cret")
    assert tokens.matches("s3cret", kept)
    assert not tokens.matches(shown, kept)
    assert not tokens.matches_any(shown, (kept, tokens.hash_of("another")))


@pytest.mark.parametrize("shown", ["", "anything"])
def test_where_no_token_is_kept_none_fits(shown: str) -> None:
    assert tokens.hash_of("") == ""
    assert not tokens.matches(shown, "")

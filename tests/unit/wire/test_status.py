"""Every refusal has a code, words, and a reason that programs can compare."""

from __future__ import annotations

from typing import Any

import pytest
from google.rpc import code_pb2, error_details_pb2  # type: ignore[import-untyped]
from shuffle_lifecycle.v1 import errors_pb2

from coordinator.core.ids import AppShuffle
from coordinator.core.rejections import Reason, Rejection
from coordinator.wire.errors import Malformed
from coordinator.wire.status import CODES, rejection_of, status_of


def details_of(status: Any) -> dict[str, Any]:
    kinds = {
        "google.rpc.ErrorInfo": error_details_pb2.ErrorInfo,
        "google.rpc.BadRequest": error_details_pb2.BadRequest,
        "google.rpc.ResourceInfo": error_details_pb2.ResourceInfo,
        "google.rpc.RetryInfo": error_details_pb2.RetryInfo,
        "shuffle_lifecycle.v1.Rejection": errors_pb2.Rejection,
    }
    names = [detail.type_url.rpartition("/")[2] for detail in status.details]
    return {name: kinds[name].FromString(detail.value) for name, detail in zip(names, status.details, strict=True)}


def rejection(reason: Reason) -> Rejection:
    return Rejection(reason, "app shuffle 9 was never heard of", "one of 0 to 4", "Report its job.", AppShuffle(9))


@pytest.mark.parametrize("reason", Reason, ids=lambda reason: reason.name)
def test_says_code_words_and_reason(reason: Reason) -> None:
    status = status_of(rejection(reason))
    details = details_of(status)
    assert status.code == CODES[reason] != code_pb2.OK
    assert status.message == "app shuffle 9 was never heard of; expected one of 0 to 4. Report its job."
    assert details["google.rpc.ErrorInfo"].reason == reason.name
    assert details["google.rpc.ErrorInfo"].metadata["expected"] == "one of 0 to 4"
    assert details["shuffle_lifecycle.v1.Rejection"].app_shuffle == 9


def test_not_found_says_what_was_asked_and_what_exists() -> None:
    resource = details_of(status_of(rejection(Reason.NOT_FOUND)))["google.rpc.ResourceInfo"]
    assert (resource.resource_type, resource.resource_name) == ("app shuffle", "9")
    assert resource.description == "one of 0 to 4"


def test_bad_input_says_what_is_wrong_with_it() -> None:
    status = status_of(rejection_of(Malformed("request 7: GetShuffleId.stage is missing", "a value")))
    violation = details_of(status)["google.rpc.BadRequest"].field_violations[0]
    assert violation.description == "request 7: GetShuffleId.stage is missing; expected a value"


def test_says_when_to_ask_again() -> None:
    delay = details_of(status_of(rejection(Reason.EXHAUSTED), retry_ms=1_250))["google.rpc.RetryInfo"].retry_delay
    assert (delay.seconds, delay.nanos) == (1, 250_000_000)


def test_what_a_status_repeats_of_a_callers_text_is_cut() -> None:
    told = status_of(Rejection(Reason.NOT_FOUND, "x" * 60_000, "y" * 60_000, "Go on."))
    assert told.ByteSize() < 8_000
    assert told.message.startswith("x" * 200)
    assert told.message.endswith("Go on.")

"""What a refused call says."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2  # type: ignore[import-untyped]
from grpc_status import rpc_status  # type: ignore[import-untyped]


async def refusal(call: Any, code: grpc.StatusCode) -> tuple[str, str]:
    """Reason and words of the status that the call must end in."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    error = caught.value
    assert error.code() is code, error.details()
    return _reason(error), error.details() or ""


def _reason(error: Any) -> str:
    status = rpc_status.from_call(error)
    for detail in status.details if status is not None else ():
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info):
            assert info.domain == "shuffle-lifecycle"
            return str(info.reason)
    return ""

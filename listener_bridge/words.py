"""Small values of ours as the protocol says them.

Responsible for: policies, levels, locators and outcomes as messages, and locators back.
Refuses to know: when anything is said.
Invariant: what is said reads back equal at the coordinator; nothing is left out.
"""

from __future__ import annotations

from typing import TypeAlias

from shuffle_lifecycle.v1 import common_pb2, service_pb2

from listener_bridge.settings import Policy, Settings
from listener_bridge.shuffle_services import api
from listener_bridge.tap.facts import Level

Request: TypeAlias = service_pb2.NumberedRequest
Directive: TypeAlias = service_pb2.Directive
Outcome: TypeAlias = api.FenceOutcome | api.FreeOutcome | api.ForgetOutcome

_RULES = {
    "reachable": common_pb2.RULE_REACHABLE,
    "frontier": common_pb2.RULE_FRONTIER,
    "eager": common_pb2.RULE_EAGER,
    "history": common_pb2.RULE_HISTORY,
    "pressure": common_pb2.RULE_PRESSURE,
}
_LEVELS = {
    Level.DETERMINATE: common_pb2.LEVEL_DETERMINATE,
    Level.UNORDERED: common_pb2.LEVEL_UNORDERED,
    Level.INDETERMINATE: common_pb2.LEVEL_INDETERMINATE,
}


def policy(chosen: Policy) -> common_pb2.Policy:
    return common_pb2.Policy(rule=_RULES[chosen.rule], observe=chosen.observe, grace_ms=chosen.grace_ms)


def level(declared: Level) -> common_pb2.Level:
    return _LEVELS[declared]


def promises(settings: Settings) -> common_pb2.Settings:
    """The limits and promises that are fixed at registration."""
    said = common_pb2.Settings(
        declared_deterministic=settings.deterministic,
        delete_indeterminate=settings.delete_indeterminate,
        pressure_high_percent=settings.pressure.high,
        pressure_low_percent=settings.pressure.low,
        pressure_capacity_bytes=settings.pressure.capacity_bytes,
        strict=settings.strict,
    )
    if settings.premature_budget is not None:
        said.premature_budget = settings.premature_budget
    return said


def capabilities(can: api.Capability) -> common_pb2.Capabilities:
    why_not = "" if can.deletes is True else can.deletes.reason
    return common_pb2.Capabilities(
        deletes=not why_not, completes_after_loss=can.can_complete_generation_after_loss, why_not=why_not
    )


def locator(named: api.Locator) -> common_pb2.Locator:
    return common_pb2.Locator(service=named.service, payload=named.payload.encode())


def locator_of(message: common_pb2.Locator) -> api.Locator | None:
    """The locator that the message says; None: it says none."""
    if not message.service:
        return None
    return api.Locator(message.service, message.payload.decode(errors="replace"))


def outcome(directive: int, came: Outcome) -> Request:
    """What became of a directive."""
    said = service_pb2.ReportOutcome(directive=directive)
    if isinstance(came, api.Fenced):
        said.fenced.CopyFrom(service_pb2.Fenced(bytes=came.bytes, locator=locator(came.locator)))
    elif isinstance(came, api.Busy):
        said.busy.CopyFrom(service_pb2.Busy(who=came.who))
    elif isinstance(came, api.Cannot):
        said.cannot.CopyFrom(service_pb2.Cannot(why=came.why))
    elif isinstance(came, api.Freed):
        said.freed.CopyFrom(service_pb2.Freed(bytes=came.bytes))
    elif isinstance(came, api.Superseded):
        said.superseded.CopyFrom(service_pb2.Superseded(by=came.by))
    else:
        said.failed.CopyFrom(service_pb2.Failed(error=came.why))
    return Request(report_outcome=said)


def is_patient(told: Request, prompt_bytes: int) -> bool:
    """Whether nobody waits for it: it tells that fewer than `prompt_bytes` bytes were fenced or freed."""
    if not told.HasField("report_outcome"):
        return False
    came = told.report_outcome
    kind = came.WhichOneof("outcome")
    return kind in ("fenced", "freed") and getattr(came, kind).bytes < prompt_bytes


def kept(app_shuffle: int, why: str) -> Request:
    """Tells that the shuffle service has to keep an app shuffle, and why."""
    return Request(report_kept=service_pb2.ReportKept(app_shuffle=app_shuffle, why=why))


def revoked(directive: int, why: str) -> Request:
    """A directive that was not carried out and never will be."""
    return Request(report_outcome=service_pb2.ReportOutcome(directive=directive, revoked=service_pb2.Revoked(why=why)))

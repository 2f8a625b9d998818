"""Who may do what: scenario 44, registration that is asked for again, administrators and drivers."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from shuffle_lifecycle.v1 import service_pb2 as pb

from coordinator.server.tokens import hash_of
from tests.unit.server import facts
from tests.unit.server.driver import Driver, hello, session
from tests.unit.server.fakes import APP, PROOF, TOKEN, Running, register, running
from tests.unit.server.refused import refusal

Code = grpc.StatusCode
ADMIN = "of an administrator"
ADMINS = (hash_of("of another one"), hash_of(ADMIN))
DECISIONS: dict[str, Any] = {
    "SetPolicy": {"policy": {"rule": 3, "observe": False}},
    "SetPin": {"app_shuffle": 0, "why": "a person wants it"},
    "RemovePin": {"app_shuffle": 0},
    "ResumeDeletion": {"by": "somebody"},
}
NAMES = {"SetPolicy": "set_policy", "SetPin": "set_pin", "RemovePin": "remove_pin", "ResumeDeletion": "resume_deletion"}


def call(run: Running, method: str, token: str = TOKEN) -> Any:
    message = getattr(pb, f"{method}Call")(caller=run.caller(token=token), command=DECISIONS[method])
    return getattr(run.stub, method)(message)


def registering(proof: str = PROOF, application: str = APP, **told: Any) -> pb.RegisterApplicationCall:
    command: Any = {"application": application, "driver": told.pop("driver", {})}
    return pb.RegisterApplicationCall(
        caller={"application": application, "token": told.pop("token", "")}, command=command, proof=proof, **told
    )


# --- registering ------------------------------------------------------------------------------------------------------


async def test_a_registration_is_answered_with_a_token_and_what_is_kept_is_another_thing() -> None:
    async with running() as run:
        reply = await run.stub.RegisterApplication(registering())
        kept = run.coordinator.states[APP].meta.token_hash
        assert reply.token == TOKEN
        assert TOKEN not in kept
        assert PROOF not in kept


async def test_a_registration_whose_answer_was_lost_is_answered_again_for_its_proof() -> None:
    async with running() as run:
        first = await run.stub.RegisterApplication(registering())
        again = await run.stub.RegisterApplication(registering())
        assert (first.token, again.token) == (TOKEN, TOKEN)
        assert len(run.coordinator.logs[APP]) == 1


async def test_who_has_the_token_is_not_told_it_again() -> None:
    async with running() as run:
        await run.stub.RegisterApplication(registering())
        assert (await run.stub.RegisterApplication(registering(proof="", token=TOKEN))).token == ""


@pytest.mark.parametrize(
    "other",
    [
        {"proof": "the proof of somebody else, long enough"},
        {"proof": ""},
        {"proof": "", "token": "guessed"},
        {"driver": {"spark_attempt": "2"}},
    ],
    ids=str,
)
async def test_who_shows_neither_token_nor_proof_gets_none(other: dict[str, Any]) -> None:
    async with running() as run:
        await run.stub.RegisterApplication(registering())
        _, words = await refusal(run.stub.RegisterApplication(registering(**other)), Code.PERMISSION_DENIED)
        assert "neither its token nor its proof" in words
        assert run.coordinator.audited == [("wrong token", APP)]


async def test_two_attempts_have_two_tokens() -> None:
    async with running() as run:
        told = [await run.stub.RegisterApplication(registering(application=f"{APP}-{n}")) for n in (1, 2)]
        assert len({reply.token for reply in told}) == 2


async def test_without_a_proof_the_token_is_told_once() -> None:
    async with running() as run:
        told = await run.stub.RegisterApplication(registering(proof=""))
        assert len(told.token) >= 43
        await refusal(run.stub.RegisterApplication(registering(proof="")), Code.PERMISSION_DENIED)


@pytest.mark.parametrize("length", [1, 31, 257])
async def test_a_proof_that_could_be_guessed_is_refused(length: int) -> None:
    async with running() as run:
        _, words = await refusal(run.stub.RegisterApplication(registering("x" * length)), Code.INVALID_ARGUMENT)
        assert f"the proof has {length} characters; expected 32 to 256" in words
        assert run.coordinator.states == {}


async def test_a_session_tells_the_token_until_it_is_shown() -> None:
    async with running() as run:
        for _ in range(2):
            async with session(run, hello(token="")) as (_, welcome):
                assert welcome.token == TOKEN
        async with session(run) as (_, welcome):
            assert welcome.token == ""


async def test_registering_may_need_a_token_of_its_own() -> None:
    async with running(registration_tokens=(hash_of("enrol"),), administrators=ADMINS) as run:
        for shown in ("", "wrong"):
            refused = run.stub.RegisterApplication(registering(registration_token=shown))
            await refusal(refused, Code.PERMISSION_DENIED)
        assert run.coordinator.audited == [("wrong registration token", APP)] * 2
        await run.stub.RegisterApplication(registering(registration_token="enrol"))
        assert (await run.stub.RegisterApplication(registering())).token == TOKEN  # it is known: its proof will do
        await run.stub.RegisterApplication(registering(application="another", registration_token=ADMIN))


# --- scenario 44 ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", DECISIONS)
async def test_44_the_token_of_another_application_opens_nothing(method: str) -> None:
    async with running() as run:
        await register(run)
        another = (await run.stub.RegisterApplication(registering(application="another"))).token
        length = len(run.coordinator.logs[APP])
        calls = [
            call(run, method, another),
            run.stub.Submit(pb.SubmitCall(caller=run.caller(token=another), requests=facts.story())),
            run.stub.EndApplication(pb.EndApplicationCall(caller=run.caller(token=another), command={})),
            run.stub.ListEvents(pb.ListEventsRequest(caller=run.caller(token=another))),
            run.stub.GetGraph(pb.GetGraphRequest(caller=run.caller(token=another))),
        ]
        for one in calls:
            await refusal(one, Code.PERMISSION_DENIED)
        assert run.coordinator.audited == [("wrong token", APP)] * len(calls)
        assert len(run.coordinator.logs[APP]) == length


async def test_44_a_forged_application_id_opens_no_session() -> None:
    async with running() as run:
        await register(run)
        another = (await run.stub.RegisterApplication(registering(application="another"))).token
        driver = Driver(run.stub.Session())
        await driver.send(hello(register=False, token=another))
        await refusal(driver.refused(), Code.PERMISSION_DENIED)
        assert run.coordinator.audited == [("wrong token", APP)]


async def test_44_an_outcome_for_somebody_elses_directive_is_refused() -> None:
    async with running() as run:
        await register(run)
        another = (await run.stub.RegisterApplication(registering(application="another"))).token
        deleted = pb.NumberedRequest(report_outcome={"directive": 1, "freed": {"bytes": 1}})
        stolen = pb.SubmitCall(caller=run.caller(token=another), requests=[deleted])
        await refusal(run.stub.Submit(stolen), Code.PERMISSION_DENIED)


# --- administrators ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", DECISIONS)
async def test_people_decide_and_the_application_does_not(method: str) -> None:
    async with running(administrators=ADMINS) as run:
        await register(run)
        await run.stub.Submit(pb.SubmitCall(caller=run.caller(), requests=facts.story()))
        _, words = await refusal(call(run, method), Code.PERMISSION_DENIED)
        assert f"{method} came from the application" in words
        assert run.coordinator.audited == [("wrong role", f"{APP} {method}")]
        assert (await call(run, method, ADMIN)).HasField("accepted")


async def test_a_batch_with_a_decision_in_it_is_refused_whole() -> None:
    async with running(administrators=ADMINS) as run:
        await register(run)
        pin = pb.NumberedRequest(number=4, set_pin={"app_shuffle": 0})
        _, words = await refusal(
            run.stub.Submit(pb.SubmitCall(caller=run.caller(), requests=[*facts.story(), pin])), Code.PERMISSION_DENIED
        )
        assert "SetPin" in words
        assert run.coordinator.submitted == []
        async with session(run) as (driver, _):
            submitted = len(run.coordinator.submitted)
            await driver.send(facts.batch([*facts.story(), pin]))
            await refusal(driver.refused(), Code.PERMISSION_DENIED)
            assert len(run.coordinator.submitted) == submitted


async def test_facts_are_the_drivers_and_not_an_administrators() -> None:
    async with running(administrators=ADMINS) as run:
        await register(run)
        told = pb.SubmitCall(caller=run.caller(token=ADMIN), requests=facts.story())
        _, words = await refusal(run.stub.Submit(told), Code.PERMISSION_DENIED)
        assert "ReportJobStarted came from an administrator" in words
        driver = Driver(run.stub.Session())
        await driver.send(hello(register=False, token=ADMIN))
        await refusal(driver.refused(), Code.PERMISSION_DENIED)
        assert [kind for kind, _ in run.coordinator.audited] == ["wrong role"] * 2


async def test_an_administrator_asks_about_everything_and_ends_what_nobody_else_does() -> None:
    async with running(administrators=ADMINS) as run:
        await register(run)
        caller = run.caller(token=ADMIN)
        assert (await run.stub.GetApplication(pb.GetApplicationRequest(caller=caller))).application == APP
        assert len((await run.stub.ListApplications(pb.ListApplicationsRequest(token=ADMIN))).applications) == 1
        assert (await run.stub.EndApplication(pb.EndApplicationCall(caller=caller, command={}))).HasField("accepted")


async def test_nobody_lists_applications_where_others_reach_it_and_nobody_is_administrator() -> None:
    async with running(bind="0.0.0.0:0", bind_beyond_loopback=True) as run:
        await register(run)
        await refusal(run.stub.ListApplications(pb.ListApplicationsRequest()), Code.PERMISSION_DENIED)
        await refusal(call(run, "ResumeDeletion"), Code.PERMISSION_DENIED)


async def test_an_application_without_a_token_is_an_administrators_alone() -> None:
    """As those are that were written into the store beside every coordinator."""
    async with running(administrators=ADMINS) as run:
        await register(run)
        meta = run.coordinator.states[APP].meta
        run.coordinator.states[APP].meta = type(meta)(meta.application)
        asked = pb.GetApplicationRequest(caller=run.caller(token=""))
        await refusal(run.stub.GetApplication(asked), Code.PERMISSION_DENIED)
        await run.stub.GetApplication(pb.GetApplicationRequest(caller=run.caller(token=ADMIN)))

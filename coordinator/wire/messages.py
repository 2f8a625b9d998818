"""Requests and answers as messages.

Responsible for turning what arrives into the core's requests and what the core answers into replies. Refuses to know
sessions, calls and status codes. Invariant: a request is read whole or refused whole; nothing is guessed for a part
that is missing.

Tasks of one stage attempt ask the same thing hundreds of times a batch. Equal commands of a batch are one object, and
equal answers to consecutive numbers are one message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from shuffle_lifecycle.v1 import errors_pb2, service_pb2

from coordinator.core.commands import Command, Request
from coordinator.core.ids import ClientId
from coordinator.core.rejections import Answer, Rejection
from coordinator.wire.bounds import check_registration
from coordinator.wire.errors import Malformed
from coordinator.wire.numbers import check_numbers
from coordinator.wire.shapes import Shape, members, shape_of

_COMMANDS: dict[str, Shape[Any]] = {name: shape_of(plain) for name, plain in members(Command).items()}
_COMMAND_NAMES: dict[type, str] = {shape.plain: name for name, shape in _COMMANDS.items()}
_ANSWERS: dict[str, Shape[Any]] = {name: shape_of(plain) for name, plain in members(Answer).items()}
_ANSWER_NAMES: dict[type, str] = {shape.plain: name for name, shape in _ANSWERS.items()}

Numbered = tuple[int, Answer]


def requests_of(batch: service_pb2.Batch, client: ClientId) -> list[Request]:
    """The requests of a batch, in its order."""
    confirmed = batch.confirmed
    known: dict[tuple[str, bytes], Command] = {}
    requests: list[Request] = []
    for numbered in batch.requests:
        name = numbered.WhichOneof("command")
        if name is None:
            raise _nothing_known(numbered.number)
        message = getattr(numbered, name)
        key = (name, message.SerializeToString())
        command = known.get(key)
        if command is None:
            command = known[key] = _read_command(numbered.number, name, message)
        requests.append(Request(client, numbered.number, command, confirmed))
    return requests


def command_of(message: Any) -> Any:
    """The command that one message of a command's name says."""
    name = message.DESCRIPTOR.name
    for shape in _COMMANDS.values():
        if shape.plain.__name__ == name:
            _check(message)
            return shape.read(message)
    raise Malformed(f"{name} is no command", f"one of {', '.join(_COMMANDS)}")


def request_to_message(request: Request) -> service_pb2.NumberedRequest:
    """The request as a driver sends it."""
    name = _COMMAND_NAMES[type(request.command)]
    fields: dict[str, Any] = {"number": request.number, name: _COMMANDS[name].fields_of(request.command)}
    return service_pb2.NumberedRequest(**fields)


def answers_to_message(answers: Iterable[Numbered]) -> service_pb2.Answers:
    """The answers as one message, runs of equal ones told once."""
    return service_pb2.Answers(answers=[answer_to_message(*run) for run in _runs(answers)])


def answer_to_message(number: int, last: int, answer: Answer) -> service_pb2.NumberedAnswer:
    """One answer to the numbers from ``number`` to ``last``."""
    name = _ANSWER_NAMES[type(answer)]
    fields: dict[str, Any] = {"number": number, name: _ANSWERS[name].fields_of(answer)}
    if last != number:
        fields["last"] = last
    return service_pb2.NumberedAnswer(**fields)


def answers_of(message: service_pb2.Answers) -> Iterator[Numbered]:
    """The answers that a message tells, one a number."""
    for numbered in message.answers:
        answer = answer_of(numbered)
        for number in range(numbered.number, max(numbered.number, numbered.last) + 1):
            yield number, answer


def answer_of(message: Any) -> Answer:
    """The answer in a message with a ``oneof answer``."""
    name = message.WhichOneof("answer")
    if name is None:
        raise Malformed(f"{message.DESCRIPTOR.name} holds no answer", f"one of {', '.join(_ANSWERS)}")
    answer: Answer = _ANSWERS[name].read(getattr(message, name))
    return answer


def answer_fields(answer: Answer) -> dict[str, Any]:
    """What the constructor of a message with a ``oneof answer`` takes."""
    name = _ANSWER_NAMES[type(answer)]
    return {name: _ANSWERS[name].fields_of(answer)}


def rejection_to_message(rejection: Rejection) -> errors_pb2.Rejection:
    """The rejection as a status carries it."""
    message: errors_pb2.Rejection = shape_of(Rejection).write(rejection)
    return message


def _runs(answers: Iterable[Numbered]) -> Iterator[tuple[int, int, Answer]]:
    first = last = -1
    same: Answer | None = None
    for number, answer in answers:
        if number == last + 1 and same is not None and (answer is same or answer == same):
            last = number
            continue
        if same is not None:
            yield first, last, same
        first, last, same = number, number, answer
    if same is not None:
        yield first, last, same


def _check(message: Any) -> None:
    if isinstance(message, service_pb2.RegisterApplication):
        check_registration(message)
    check_numbers(message)


def _read_command(number: int, name: str, message: Any) -> Command:
    try:
        _check(message)
        command: Command = _COMMANDS[name].read(message)
    except Malformed as error:
        raise error.at(f"request {number}") from error
    return command


def _nothing_known(number: int) -> Malformed:
    return Malformed(
        f"request {number} holds no command that is known here",
        f"one of {', '.join(_COMMANDS)}",
        "Nothing was done; send a command, or ask a coordinator of the client's release.",
    )

"""What shows that a state backend keeps its contract: a suite, a model machine, faults.

Responsible for: checks that run unchanged against any backend. Refuses to know: any one of them.
Invariant: shipped, and imported by nothing but tests. It needs pytest, pytest-asyncio and hypothesis.

    from state_backend.testing.contract import StateBackendContract

    class TestMine(StateBackendContract):
        @pytest.fixture
        async def backend(self):
            async with await open_mine() as backend:
                yield backend
"""

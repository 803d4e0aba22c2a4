"""Nodes as processes: what they print is kept whole."""

from robodyn_ros.commands.processes import NodeProcess

LINES = 20_000


def test_a_process_prints_while_its_output_is_read():
    program = f"for number in range({LINES}): print(number, flush=True)"
    with NodeProcess("printer", command=("-c", program)) as process:
        while process.running():
            process.output()
        assert process._process.wait(60.0) == 0
        assert process.output().split() == [str(number) for number in range(LINES)]

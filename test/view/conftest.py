"""The server of a page, for the tests of a file. Imported late: viser need not be there."""

import pytest


@pytest.fixture(scope="module")
def server():
    from robodyn_ros.view.server import start_server, stop_server

    server = start_server("127.0.0.1", 0, "test")
    yield server
    stop_server(server)

"""The marks of these tests."""


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes a minute; not in the gate")

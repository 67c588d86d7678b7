"""How tests run: no example fails for the machine's slowness, and what is imported stays."""

import gc

from hypothesis import HealthCheck, settings

settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")


def pytest_collection(session):
    """Collect no garbage while thousands of tests and their libraries come in to stay."""
    gc.disable()


def pytest_collection_finish(session):
    """Leave them out of every later search for garbage, which would go through them in vain."""
    gc.enable()
    gc.freeze()

from filled_store import finish  # noqa: F401

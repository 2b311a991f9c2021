"""pytest, for the whole checkout."""

pytest_plugins = ["nbval_strict"]


def pytest_terminal_summary(terminalreporter):
    """Print what a test recorded as its summary, from whichever process it ran in."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, text in getattr(report, "user_properties", []):
                if name == "summary" and report.when == "call":
                    terminalreporter.write_line(text)

"""Counts the results of a run of tests: test_summary.py EVENTS STATUS.

EVENTS is a file of `bazel test --build_event_json_file=EVENTS`, and STATUS the exit status of Bazel. Prints the failed
tests and then 'N passed, N failed'. The exit status is STATUS, or 1 if that is 0 but a test failed or none ran.
"""
import json
import sys

GOOD = ("PASSED", "FLAKY")


def read(path):
    """Returns the status of each test that Bazel was to run, by the test's label."""
    statuses = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            event = json.loads(line)
            configured = event.get("configured", {})
            if configured.get("testSize"):
                statuses.setdefault(event["id"]["targetConfigured"]["label"], "NOT_RUN")
            if "testSummary" in event:
                status = event["testSummary"].get("overallStatus", "NO_STATUS")
                statuses[event["id"]["testSummary"]["label"]] = status
    return statuses


def main():
    status = int(sys.argv[2])
    try:
        statuses = read(sys.argv[1])
    except (OSError, ValueError) as error:
        print(f"test: error: Bazel's file of events cannot be read: {error}")
        statuses = {}
    bad = {label: found for label, found in sorted(statuses.items()) if found not in GOOD}
    for label, found in bad.items():
        print(f"failed: {label} ({found})")
    passed, failed = len(statuses) - len(bad), len(bad)
    if not statuses:
        print("test: error: no test ran, which counts as a failure")
        failed = 1
    elif status != 0 and not failed:
        print(f"test: error: Bazel exited with {status} though all tests passed, which counts as a failure")
        failed = 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(status or (1 if failed else 0))


if __name__ == "__main__":
    main()

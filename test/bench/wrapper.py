"""What quota_guard --job does, as a plain Python script: the yardstick.

    wrapper.py --job LABEL -- COMMAND [ARG...]
    wrapper.py --update N --at EPOCH     N updates of the books, for throughput
"""
import argparse
import fcntl
import json
import os
import subprocess
import sys
import time

FOLDER = os.environ["CLAUDE_QUOTA_DIR"]


def read(name):
    try:
        with open(os.path.join(FOLDER, name)) as file:
            return json.load(file)
    except FileNotFoundError:
        return {}


def record(label, entry):
    os.makedirs(FOLDER, mode=0o700, exist_ok=True)
    with open(os.path.join(FOLDER, "state.json.lock"), "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        read("state.json")
        books = read("jobs.json")
        books.setdefault("jobs", {})[label] = entry
        path = os.path.join(FOLDER, "jobs.json")
        temp = f"{path}.{os.getpid()}.tmp"
        with open(temp, "w") as file:
            json.dump(books, file)
        os.replace(temp, path)


def run(label, command):
    now = time.time()
    circuit = read("state.json")
    remaining = int(circuit.get("open_until", 0) - now)
    ts = int(now)
    if remaining > 0:
        reason = circuit.get("reason", "quota")
        print(
            f"CLAUDE_QUOTA_JOB_SKIPPED job={label} reason={reason} "
            f"remaining={remaining}s ts={ts}",
            file=sys.stderr,
        )
        record(label, {"outcome": "skipped", "ts": ts, "exit": None})
        return 0
    env = dict(os.environ, CLAUDE_AUTOMATION_GUARD="1", CLAUDE_QUOTA_JOB=label)
    code = subprocess.run(command, env=env).returncode
    print(f"\nCLAUDE_QUOTA_JOB_RAN job={label} exit={code} ts={ts}", file=sys.stderr)
    record(label, {"outcome": "ran", "ts": ts, "exit": code})
    return code


parser = argparse.ArgumentParser()
parser.add_argument("--job")
parser.add_argument("--update", type=int)
parser.add_argument("--at", type=float)
parser.add_argument("command", nargs="*")
arguments = parser.parse_args()
if arguments.update is None:
    sys.exit(run(arguments.job, arguments.command))
time.sleep(max(0, arguments.at - time.time()))
begun = time.time()
for n in range(arguments.update):
    record(f"job-{os.getpid()}", {"outcome": "ran", "ts": n, "exit": 0})
print(begun, time.time())

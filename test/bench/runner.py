"""Runs commands in turns and tells what wait4(2) says of each: JSON in, JSON out.

In: {"rounds": 11, "commands": [{"words": ["true"], "env": {}}]}
Out: for each command a list of [wall s, user + system s, max resident KiB].
"""
import json
import os
import sys
import time

spec = json.load(sys.stdin)
null = os.open(os.devnull, os.O_RDWR)
actions = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)]
unit = 1024 if sys.platform == "darwin" else 1
samples = [[] for _ in spec["commands"]]
# The first two rounds warm caches.
for n in range(-2, spec["rounds"]):
    for command, results in zip(spec["commands"], samples):
        begun = time.perf_counter()
        words = command["words"]
        pid = os.posix_spawnp(words[0], words, command["env"], file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
        wall = time.perf_counter() - begun
        if status != 0:
            sys.exit(f"{words}: wait status {status}")
        if n >= 0:
            cpu = usage.ru_utime + usage.ru_stime
            results.append([wall, cpu, usage.ru_maxrss // unit])
json.dump(samples, sys.stdout)

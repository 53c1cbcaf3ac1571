"""What quota_catchup looks for, as a plain Python script that reads whole logs.

    scan.py FOLDER-OF-AGENTS
"""
import datetime
import glob
import os
import plistlib
import re
import sys

GUARD = re.compile("claude-quota-guard|quota_guard|quota-guard")
MARKER = re.compile(r"CLAUDE_QUOTA_JOB_(SKIPPED|RAN) job=(\S+)(?: \S+)* ts=(\d{10})$")

for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.plist"))):
    with open(path, "rb") as file:
        agent = plistlib.load(file)
    if not any(GUARD.search(word) for word in agent["ProgramArguments"]):
        continue
    newest = None
    for log in {agent.get("StandardErrorPath"), agent.get("StandardOutPath")}:
        if log is None or not os.path.exists(log):
            continue
        with open(log, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if not line.startswith("CLAUDE_QUOTA_JOB_"):
                    continue
                marker = MARKER.match(line.rstrip("\n"))
                if marker and marker[2] == agent["Label"]:
                    newest = marker
    if newest and newest[1] == "SKIPPED":
        day = datetime.date.fromtimestamp(int(newest[3]))
        if day == datetime.date.today():
            print(agent["Label"])

#!/usr/bin/env python3
"""The manual page and the completion: made from the flags that the program reads, so they name every one.

  manual_test.py PROGRAM

bash completes, shellcheck and man judge, where they are installed.
"""

import re
import shutil
import subprocess
import sys

from program import ROOT, Suite


def help_flags(suite, *words):
    out = suite.run(*words, "--help").out
    return sorted(set(re.findall(r"^  (-\w|--[\w-]+)(?:,(--[\w-]+))?", out, re.M)))


def complete(suite, script, *words):
    """What bash offers for the last word."""
    text = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pinfold; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", text, "bash", script, "pinfold", *words], cwd=suite.scratch, check=False,
                          capture_output=True, text=True)
    suite.check(f"bash completes {words} without a complaint", not done.stderr, done.stderr)
    return sorted(done.stdout.split())


def main():
    suite = Suite()
    page = suite.run("schema", "--format", "man").out
    script = suite.write("pinfold.bash", suite.run("schema", "--format", "bash").out)
    commands = re.findall(r"^  ([a-z]+)  ", suite.run("--help").out.split("Subcommands:")[1], re.M)
    suite.check("there are commands", len(commands) >= 8, str(commands))
    offered = complete(suite, script, "")
    suite.check("every command is offered", set(commands) <= set(offered), str(offered))
    for command in commands:
        plain = page.replace("\\-", "-")
        suite.check(f"the page has {command}", f".SS pinfold {command}\n" in plain)
        section = plain.split(f".SS pinfold {command}\n")[1].split(".SS")[0]
        offered = complete(suite, script, command, "-")
        for short, long in help_flags(suite, command):
            for flag in filter(None, (short, long)):
                suite.check(f"{command} {flag} is in both", f"\\fB{flag}\\fR" in section and flag in offered, str(offered))
    suite.check("words of a flag", complete(suite, script, "check", "x.csv", "--format", "j") == ["json", "junit"])
    suite.check("on and off", complete(suite, script, "run", "--shadow", "") == ["off", "on"])
    suite.check("options behind --set", complete(suite, script, "run", "--set", "engine.block") == ["engine.block_size="])
    suite.check("commands of a command", set(complete(suite, script, "trace", "")) >= {"info", "head", "synth"})
    suite.check("flags of those", "--rows" in complete(suite, script, "trace", "head", "--"))
    suite.write("a file.csv", "")
    (suite.scratch / "a folder").mkdir()
    suite.write("afile.csv", "")
    suite.check("files", "afile.csv" in complete(suite, script, "run", "afi"))
    suite.check("a value that nothing completes", complete(suite, script, "run", "--why", "") == [])
    if shutil.which("shellcheck"):
        done = subprocess.run(["shellcheck", suite.scratch / script], check=False, capture_output=True, text=True)
        suite.check("shellcheck has nothing to say", done.returncode == 0, done.stdout)
    else:
        print("skipped: 1 check, shellcheck is not installed")
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8"], input=page, check=False, capture_output=True, text=True)
        suite.check("groff has nothing to say", done.returncode == 0 and not done.stderr, done.stderr)
    else:
        print("skipped: 1 check, groff is not installed")
    suite.check("schema alone is the schema", suite.run("schema").out == suite.run("schema", "--format", "json").out)
    suite.check("an unknown format is explained", "did you mean bash?" in suite.run("schema", "--format", "bsh").err)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())

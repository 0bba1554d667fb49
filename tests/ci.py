#!/usr/bin/env python3
"""The CI jobs of docs/check.md, action.yml and ci/gitlab.yml: their structure as the services read it, and their shell parts run in a repository whose change is
slower (or not), with what the services would give them in the environment."""
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import PROGRAM as NEUROLENS, ROOT, Tally, environment  # noqa: E402
from plantedsteps import Plant, write  # noqa: E402

PROGRAM = """
import sys, time
sys.path.insert(0, %r)
import nlens

slow = float(open("slow.in").read())
for i in range(10):
    with nlens.step(i):
        with nlens.layer("encoder"):
            end = time.process_time_ns() + int(2e6 * slow)
            while time.process_time_ns() < end:
                pass
"""

# `bench` is played by captures whose truth is known; everything else is the program. It checks that both commits are there.
PLAYED = """#!/bin/sh
if [ "$1" = bench ]; then
    [ "$2" = --commit ] && [ "$4" = --commit ] && git rev-parse -q --verify "$3^{commit}" && git rev-parse -q --verify "$5^{commit}" &&
        [ "$(git rev-parse "$3")" = "$TARGET" ] && mkdir captures && cp "$PLAYED"/*.nlt captures
    exit
fi
exec "$PROGRAM" "$@"
"""


def blocks():
    with open(os.path.join(ROOT, "docs", "check.md"), encoding="utf-8") as file:
        return re.findall(r"^```(yaml|groovy)\n(.*?)^```$", file.read(), re.M | re.S)


# ---- structure ----

def only(value, *names):
    return isinstance(value, dict) and set(value) <= set(names)


def check_github(tally, job):
    steps = job["jobs"]["gate"]["steps"]
    tally.check("GitHub: the workflow's members", only(job, "name", True, "on", "jobs") and job.get("on", job.get(True)) == "pull_request" and
                only(job["jobs"]["gate"], "runs-on", "permissions", "env", "steps"), job.keys())
    tally.check("GitHub: permissions are those that there are", all(name in ("contents", "pull-requests", "security-events") and
                                                                    value in ("read", "write") for name, value in
                                                                    job["jobs"]["gate"]["permissions"].items()))
    wrong = [step for step in steps if not only(step, "name", "uses", "with", "run", "if", "env") or ("uses" in step) == ("run" in step) or
             not re.match(r"[\w-]+/[\w/-]+@v\d+$", step.get("uses", "a/b@v1")) or not isinstance(step.get("run", ""), str)]
    tally.check("GitHub: each step uses an action or runs a script", not wrong and len(steps) == 6, wrong)
    expressions = re.findall(r"\$\{\{ *(.*?) *\}\}", str(job))
    tally.check("GitHub: expressions", set(expressions) <= {"github.token", "github.event.number"}, expressions)
    return steps


def check_gitlab(tally, job):
    body = job["performance"]
    tally.check("GitLab: the job's members", len(job) == 1 and only(body, "stage", "rules", "variables", "script", "artifacts") and
                only(body["artifacts"], "when", "paths", "reports") and body["artifacts"]["reports"] == {"junit": "check.xml"} and
                all(isinstance(value, str) for value in body["variables"].values()) and
                all(isinstance(line, str) for line in body["script"]) and body["rules"][0].keys() == {"if"}, body)
    return body["script"]


def groovy_blocks(text):
    """Names of nested blocks, as pairs (name, text inside); texts in quotes hold no braces that count."""
    masked = re.sub(r"'''.*?'''|'[^'\n]*'", lambda m: m.group(0).replace("{", "\0").replace("}", "\0"), text, flags=re.S)
    found, open_at = [], []
    for at, c in enumerate(masked):
        if c == "{":
            open_at.append((re.search(r"([\w]+)(\([^()]*\))?\s*$", masked[:at]).group(1), at + 1))
        elif c == "}":
            name, start = open_at.pop()
            found.append((name, text[start:at], [n for n, _ in open_at]))
    assert not open_at
    return found


def check_jenkins(tally, text):
    found = {name: above for name, _, above in groovy_blocks(text)}
    tally.check("Jenkins: a declarative pipeline", found == {
        "environment": ["pipeline"], "when": ["pipeline", "stages", "stage"], "steps": ["pipeline", "stages", "stage"],
        "stage": ["pipeline", "stages"], "stages": ["pipeline"], "always": ["pipeline", "post"], "post": ["pipeline"], "pipeline": []} and
        re.match(r"pipeline \{\n    agent any\n", text), found)
    script = re.search(r"sh '''\n(.*?)'''", text, re.S).group(1)
    tally.check("Jenkins: nothing in the script that Groovy reads otherwise", "\\" not in script and "'''" not in script)
    return script


# ---- shell parts ----

class Repository:
    """A clone whose branch `change` is checked out; main is the target."""

    def __init__(self, folder, name, slow):
        self.folder = os.path.join(folder, name)
        origin = os.path.join(folder, name + ".origin")
        os.mkdir(origin)
        self.env = dict(environment(folder), GIT_CONFIG_GLOBAL="/dev/null", GIT_AUTHOR_NAME="t", GIT_AUTHOR_EMAIL="t@example.org",
                        GIT_COMMITTER_NAME="t", GIT_COMMITTER_EMAIL="t@example.org")
        self.git(origin, "init", "-q", "-b", "main")
        self.commit(origin, "1")
        self.git(origin, "checkout", "-q", "-b", "change")
        self.commit(origin, str(slow))
        self.git(folder, "clone", "-q", origin, name)
        self.target = self.git(origin, "rev-parse", "main").strip()

    def git(self, place, *words):
        return subprocess.run(["git", *words], cwd=place, env=self.env, check=True, stdout=subprocess.PIPE).stdout.decode()

    def commit(self, place, slow):
        with open(os.path.join(place, "slow.in"), "w", encoding="utf-8") as file:
            file.write(slow)
        with open(os.path.join(place, "program.py"), "w", encoding="utf-8") as file:
            file.write(PROGRAM % os.path.join(os.path.dirname(NEUROLENS), "python"))
        self.git(place, "add", ".")
        self.git(place, "commit", "-q", "--allow-empty", "-m", slow)

    def run(self, words, script, **extra):
        return subprocess.run([*words, script], cwd=self.folder, env=dict(self.env, **extra), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=240)


def script_file(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def commands(folder):
    """A PATH with the played neurolens, and a gh that keeps what it is given."""
    place = os.path.join(folder, "bin")
    os.mkdir(place)
    script_file(os.path.join(place, "neurolens"), PLAYED)
    script_file(os.path.join(place, "gh"), "#!/bin/sh\necho \"$*\" > gh.called\ncp \"$5\" gh.body\n")
    real = os.path.join(folder, "real")
    os.mkdir(real)
    os.symlink(NEUROLENS, os.path.join(real, "neurolens"))
    shutil.copy(os.path.join(place, "gh"), real)
    for what, clock in ("same", 1.0), ("slow", 1.06):
        os.mkdir(os.path.join(folder, what))
        for i in range(3):
            write(os.path.join(folder, what, "A%d.nlt" % (i + 1)), Plant(seed=i, capture=0.002 * (i - 1)))
            write(os.path.join(folder, what, "B%d.nlt" % (i + 1)), Plant(seed=i + 9, capture=0.002 * (i - 1), clock=clock))
    return place, real


def failures(repository):
    return int(xml.etree.ElementTree.parse(os.path.join(repository.folder, "check.xml")).getroot()[0].get("failures"))


def run_github(repository, steps, **extra):
    """The steps in turn, each by `bash -e`; what fails stops those that are not `if: always()`. The status of the job."""
    status, said = 0, b""
    for step in steps:
        if "run" not in step or (status and step.get("if") != "always()"):
            continue
        given = {name: "7" for name in step.get("env", {})}
        done = repository.run(["bash", "-e", "-c"], step["run"], GITHUB_BASE_REF="main", GITHUB_STEP_SUMMARY="summary.md", **given, **extra)
        status, said = status or done.returncode, said + done.stdout
    return status, said.decode(errors="replace")


def read(repository, name):
    with open(os.path.join(repository.folder, name), encoding="utf-8") as file:
        return file.read()


def check_played(tally, folder, name, run):
    place, _ = os.path.join(folder, "bin"), None
    for what, slow, expected in ("same", 1, 0), ("slow", 1.3, 1):
        repository = Repository(folder, name + "-" + what, slow)
        status, said = run(repository, {"PATH": place + os.pathsep + os.environ["PATH"], "PLAYED": os.path.join(folder, what), "PROGRAM": NEUROLENS,
                                        "TARGET": repository.target, "COMMAND": "true"})
        tally.check("%s: a change that is %s ends with %d" % (name, what, expected), status == expected and failures(repository) == expected and
                    ("regression" in read(repository, "check.md")) == bool(expected), (status, said[-1500:]))


def check_recorded(tally, folder, steps, real):
    """The whole GitHub job with nothing played but gh."""
    repository = Repository(folder, "recorded", 1.3)
    status, said = run_github(repository, steps, PATH=real + os.pathsep + os.environ["PATH"], COMMAND="%s program.py" % sys.executable)
    if "nothing was recorded" in said:
        tally.skip("GitHub: recorded", said[-200:])
        return
    tally.check("GitHub: with real recordings of a change that is 30 % slower", status == 1 and failures(repository) == 1 and
                "regression" in read(repository, "summary.md") and read(repository, "gh.body") == read(repository, "check.md") and
                read(repository, "gh.called").strip() == "pr comment 7 --body-file check.md", (status, said[-1500:]))


# ---- the action and the template ----

# gh as far as the action uses it: comments are lines "id file" of $COMMENTS.
GH = """#!/bin/sh
[ "$1" = api ] || exit 2
shift
case "$*" in
"--paginate repos/o/r/issues/7/comments --jq "*) [ ! -f comments/1 ] || ! grep -q "^<!-- neurolens gate -->" comments/1 || echo 1 ;;
"--silent -X PATCH repos/o/r/issues/comments/1 -F body=@neurolens.comment.md") cp neurolens.comment.md comments/1; echo edited >> comments/log ;;
"--silent repos/o/r/issues/7/comments -F body=@neurolens.comment.md") mkdir -p comments; cp neurolens.comment.md comments/1; echo made >> comments/log ;;
*) echo "gh: unexpected: $*" >&2; exit 2 ;;
esac
"""


def check_action(tally, folder):
    import yaml
    with open(os.path.join(ROOT, "action.yml"), encoding="utf-8") as file:
        action = yaml.safe_load(file)
    steps = action["runs"]["steps"]
    wrong = [step for step in steps if not only(step, "name", "id", "if", "shell", "env", "run", "uses", "with") or ("run" in step) != ("shell" in step) or
             ("run" in step) == ("uses" in step)]
    used = set(re.findall(r"\$\{\{ *(.*?) *\}\}", str(action)))
    known = {"inputs." + name for name in action["inputs"]} | {"github.token", "github.event.number", "steps.check.outputs.status"}
    tally.check("action: members, inputs and expressions", action["runs"]["using"] == "composite" and not wrong and used <= known and
                {"inputs." + name for name in action["inputs"]} <= used and all(only(given, "description", "default") for given in action["inputs"].values()),
                (wrong, used ^ known))
    place = os.path.join(folder, "action-bin")
    os.mkdir(place)
    script_file(os.path.join(place, "neurolens"), PLAYED)
    script_file(os.path.join(place, "gh"), GH)
    path = {"PATH": place + os.pathsep + os.environ["PATH"], "PROGRAM": NEUROLENS}

    def run(repository, inputs):
        values = {"inputs." + name: str(given.get("default", "")) for name, given in action["inputs"].items()}
        values.update({"inputs." + name: value for name, value in inputs.items()}, **{"github.event.number": "7", "github.token": "t"})
        output = os.path.join(repository.folder, "output")
        status, said = 0, b""
        for step in steps:
            if "run" not in step or status:
                continue
            if os.path.exists(output):
                with open(output, encoding="utf-8") as file:
                    values["steps.check.outputs.status"] = file.read().strip().split("=")[-1]
            given = {name: re.sub(r"\$\{\{ *(.*?) *\}\}", lambda match: values[match.group(1)], text) for name, text in step.get("env", {}).items()}
            done = repository.run(["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c"], step["run"], GITHUB_BASE_REF="main", GITHUB_STEP_SUMMARY="summary.md",
                                  GITHUB_OUTPUT=output, GITHUB_REPOSITORY="o/r", TARGET=repository.target, PLAYED=os.path.join(folder, "slow"), **path, **given)
            status, said = done.returncode, said + done.stdout
        return status, said.decode(errors="replace")

    repository = Repository(folder, "action", 1.3)
    status, said = run(repository, {"command": "true", "name": "gate", "rules": "step.p50 > +3%\nstep.p50 > 100s\n"})
    tally.check("action: a change that is slower ends with 1, with comment, summary and report", status == 1 and "regression" in read(repository, "comments/1") and
                read(repository, "summary.md") in read(repository, "comments/1") and read(repository, "comments/log") == "made\n" and
                "<html" in read(repository, "neurolens.html") and failures_of(repository, "neurolens.xml") == 1, (status, said[-1500:]))
    same = ",".join(os.path.join(folder, "same", "%s%%d.nlt" % side) % number for side in "B" for number in (1, 2, 3))
    status, said = run(repository, {"profiles": same, "baseline": same.replace("B", "A"), "name": "gate"})
    tally.check("action: profiles that are the same pass, and the comment is edited in place", status == 0 and "egression" not in read(repository, "comments/1") and
                read(repository, "comments/log") == "made\nedited\n" and failures_of(repository, "neurolens.xml") == 0, (status, said[-1500:]))
    return place


def failures_of(repository, name):
    return int(xml.etree.ElementTree.parse(os.path.join(repository.folder, name)).getroot()[0].get("failures"))


def check_template(tally, folder, place):
    import yaml
    with open(os.path.join(ROOT, "ci", "gitlab.yml"), encoding="utf-8") as file:
        job = yaml.safe_load(file)[".neurolens"]
    repository = Repository(folder, "template", 1.3)
    given = dict({name: str(value) for name, value in job["variables"].items()}, COMMAND="true", TARGET=repository.target, PLAYED=os.path.join(folder, "slow"),
                 PROGRAM=NEUROLENS, PATH=place + os.pathsep + os.environ["PATH"], CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main")
    done = repository.run(["bash", "-e", "-o", "pipefail", "-c"], "\n".join(job["script"]), **given)
    tally.check("GitLab template: a change that is slower ends with 1, with report", only(job, "stage", "rules", "variables", "script", "artifacts") and
                done.returncode == 1 and "<html" in read(repository, "neurolens.html") and failures_of(repository, "neurolens.xml") == 1 and
                all(os.path.exists(os.path.join(repository.folder, path)) for path in job["artifacts"]["paths"]), done.stdout[-1500:])


def main():
    tally = Tally("ci")
    try:
        import yaml
    except ImportError:
        tally.skip("all of it", "no yaml in this Python")
        return tally.finish()
    kinds = blocks()
    tally.check("three jobs", [kind for kind, _ in kinds] == ["yaml", "yaml", "groovy"], [kind for kind, _ in kinds])
    steps = check_github(tally, yaml.safe_load(kinds[0][1]))
    lines = check_gitlab(tally, yaml.safe_load(kinds[1][1]))
    script = check_jenkins(tally, kinds[2][1])

    def gitlab(repository, extra):
        done = repository.run(["bash", "-e", "-o", "pipefail", "-c"], "\n".join(lines), CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main", **extra)
        return done.returncode, done.stdout.decode()

    def jenkins(repository, extra):
        done = repository.run(["sh", "-xe", "-c"], script, CHANGE_TARGET="main", **extra)
        return done.returncode, done.stdout.decode()

    with tempfile.TemporaryDirectory(prefix="neurolens-ci-") as folder:
        _, real = commands(folder)
        if not shutil.which("git"):
            tally.skip("shell parts", "no git here")
            return tally.finish()
        check_played(tally, folder, "GitHub", lambda repository, extra: run_github(repository, steps, **extra))
        check_played(tally, folder, "GitLab", gitlab)
        check_played(tally, folder, "Jenkins", jenkins)
        check_recorded(tally, folder, steps, real)
        check_template(tally, folder, check_action(tally, folder))
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())

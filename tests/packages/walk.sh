#!/bin/sh
# Walks every command of an installed neurolens once, in a folder of its own; `walk.sh PROFILE [PYTHON]`. With PYTHON, one in which nlens
# can be imported, a program in Python is recorded, too. Prints a line for each; the last line says how many failed.
# Plain sh and what every root has: tools/roots.py runs it in clean ones.
set -u
profile=$1 python=${2-}
work=$(mktemp -d)
cd "$work" || exit 1
HOME=$work NEUROLENS_LEDGER=$work/ledger
export HOME NEUROLENS_LEDGER
failed=0 walked=" "

# walk COMMAND STATUS ARGUMENTS…: the command must end with the status and write something
walk() {
    command=$1 status=$2
    shift 2
    walked="$walked$command "
    got=0
    timeout 120 neurolens "$command" "$@" >out 2>err || got=$?
    if [ "$got" = "$status" ]; then
        echo "ok $command"
    else
        sed 's/^/    /' out err | tail -n 20
        echo "FAIL $command $*: status $got, not $status"
        failed=$((failed + 1))
    fi
}
# has TEXT: of what the last command wrote
has() {
    grep -q -e "$1" out err || {
        sed 's/^/    /' out | tail -n 20
        echo "FAIL $command: no $1 in what it wrote"
        failed=$((failed + 1))
    }
}

walk version 0
has '^neurolens [0-9]'
walk help 0
commands=$(sed -n -e '/^common/,$d' -e 's/^  \([a-z]*\)  *[a-z].*/\1/p' out)
walk info 0 "$profile"
walk analyze 0 "$profile"
has 'Compute-bound: GPU 0'
walk sql 0 "$profile" 'SELECT count(*) AS n FROM kernels'
walk diff 0 "$profile" "$profile"
walk check 0 "$profile" --fail-on 'step.p50 > 10s'
walk report 0 "$profile" -o page.html
grep -q '<html' page.html || { echo "FAIL report: no page"; failed=$((failed + 1)); }
walk flame 0 "$profile" --by device -o flame.svg
walk export 0 "$profile" --to chrome -o out.json
walk fingerprint 0 "$profile"
walk run 0 -o work.nlt -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'
walk analyze 0 work.nlt
walk bench 0 --min-captures 2 --max-captures 2 --precision 90% -o captures -- sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done'
walk init 0 folder
walk trust 0 folder/.neurolens
walk add 0 "$profile" work.nlt
walk ls 0
walk show 0 @
walk tag 0 @ newest
walk note 0 @ 'a note'
walk similar 0 "$profile"
walk trend 0 timeline.duration_ns
walk rank 0 "$profile" "$profile"
walk ledger 0 check
walk export 0 "$profile" --to run.json -o run.json
walk validate 0 run.json
walk rm 0 newest
walk gc 0
walk doctor 0
walk schema 0 sql
walk completion 0 bash
walk roof 0 --help
walk top 0 --help
walk profile 0 --help
walk open 0 --help

if [ -n "$python" ]; then
    cat >steps.py <<'P'
import nlens
for i in range(7):
    with nlens.step():
        with nlens.layer("encoder"):
            sum(range(100000))
P
    walk run 0 -o steps.nlt -- "$python" steps.py
    cat >read.py <<'P'
import sys, sysconfig, nlens
from nlens import _native
made = nlens.open("steps.nlt").sql("SELECT name, count(*) FROM slices WHERE name IN ('step', 'encoder') GROUP BY 1 ORDER BY 1").rows
served = not sysconfig.get_config_var("Py_GIL_DISABLED")
assert nlens._capture.__name__ == ("nlens._capture" if served else "nlens._nocapture"), nlens._capture
assert made == ([("encoder", 7), ("step", 7)] if served else []), made
assert nlens.open(sys.argv[1]).answer["class"] == "compute", nlens.open(sys.argv[1]).answer
assert _native.find() is not None, "libneurolens is not found"
P
    if "$python" read.py "$profile" >out 2>&1 && "$python" -m nlens version >>out 2>&1; then
        echo "ok nlens"
    else
        sed 's/^/    /' out
        echo "FAIL nlens"
        failed=$((failed + 1))
    fi
fi
for command in $commands; do
    case "$walked" in
    *" $command "*) ;;
    *)
        echo "FAIL $command: is not walked"
        failed=$((failed + 1))
        ;;
    esac
done
cd / && rm -rf "$work"
echo "walked $(echo "$walked" | wc -w) calls, $failed failed"
[ $failed = 0 ]

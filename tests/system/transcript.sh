#!/bin/sh
# Prints the transcript of attendance that the README shows: a table of people is imported, one of
# them and a stranger pass a replayed camera, a record is put right, and a payroll gets its table.
#
#   EDGEFACED_MODELS_DIR=... tests/system/transcript.sh FOLDER_OF_ONE_PERSON PICTURE_OF_A_STRANGER
#
# The folder has four pictures of one person at least; the models' folder has the pack "reference".
set -eu
person=$(realpath "$1") stranger=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p photos/Ann replay
find "$person" -type f | sort | head -n 3 | while read -r picture; do cp "$picture" photos/Ann/; done
cp "$(find "$person" -type f | sort | sed -n 4p)" "replay/1 ann.jpg"
cp "$stranger" "replay/2 stranger.jpg"
export EDGEFACED_CONFIG="$work/edgefaced.toml" EDGEFACED_STATE_DIR="$work/state" COLUMNS=100

cat > edgefaced.toml <<END
[camera]
kind = "replay"
replay_paths = ["replay"]
replay_picture_seconds = 7
[thermal]
zones = []
latency_budget_ms = 1e9
[attendance]
enabled = true
mode = "in"
END
cat > people.csv <<END
name;external_id;groups;consent
Ann;A-17;staff;on paper, 2026
Bob;B-18;staff;
END

say() {
    printf '$ edgefaced'
    for word in "$@"; do
        case $word in *" "*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    edgefaced "$@" 2>&1 || [ $? -eq 1 ]
    printf '\n'
}

say people import people.csv --photos photos --largest
say run
say events list
say attendance list
record=$(edgefaced attendance list --json | sed 's/.*"record_id": "\([^"]*\)".*/\1/' | cut -c1-13)
an_hour_ago=$(date -d "-1 hour" "+%Y-%m-%d %H:%M")
say attendance correct change "$record" --at "$an_hour_ago" --reason "the camera was covered" --by HR
sed -i 's/mode = "in"/mode = "out"\ncool_down_seconds = 0/' edgefaced.toml
printf '# the same at the exit, where attendance.mode is "out"\n'
say run
say attendance summary
say attendance export hours.csv
printf '$ cat hours.csv\n'
cat hours.csv
printf '\n'
say events verify

#!/bin/sh
# Prints the transcript that the README shows: two people walk up to a door in two real films. One is
# of the group that the door's rules let in, a broker's subscriber hears of it, and a payroll gets
# its table.
#
#   EDGEFACED_MODELS_DIR=... tests/system/transcript.sh FILM_OF_ONE FILM_OF_ANOTHER
#
# The models' folder has the pack "reference"; mosquitto and mosquitto_sub are installed. The people
# are enrolled from the first frames of their films. Statistics are cut and ids shortened.
set -eu
ann=$(realpath "$1") bob=$(realpath "$2")
work=$(mktemp -d)
broker='' subscriber=''
trap 'for pid in $broker $subscriber; do kill "$pid" 2>/dev/null || :; done; rm -rf "$work"' EXIT
cd "$work"
export EDGEFACED_CONFIG="$work/edgefaced.toml" EDGEFACED_STATE_DIR="$work/state" COLUMNS=100
export PATH="$PATH:/usr/sbin"

python3 - "$ann" "$bob" <<'END'
import sys
from pathlib import Path

import cv2

for film, name in zip(sys.argv[1:], ("Ann", "Bob"), strict=True):
    photos = Path("photos", name)
    photos.mkdir(parents=True)
    frames = cv2.VideoCapture(film)
    for number in range(31):
        _, frame = frames.read()
        if number % 15 == 0:
            cv2.imwrite(str(photos / f"{number}.jpg"), frame)
END
mkdir pins films
echo 0 > pins/relay
cp "$ann" films/1-ann.mp4
cp "$bob" films/2-bob.mp4
cat > people.csv <<'END'
name;external_id;groups;consent
Ann;A-17;staff;on paper, 2026
Bob;B-18;visitors;on paper, 2026
END
port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
printf 'listener %s 127.0.0.1\nallow_anonymous true\n' "$port" > mosquitto.conf
cat > edgefaced.toml <<END
[camera]
kind = "replay"
replay_paths = ["films"]
[thermal]
zones = []
latency_budget_ms = 1e9
[doors.front]
chip_kind = "file"
chip = "pins"
relay_line = "relay"
pulse_ms = 500
liveness = "not required"
[schedules.open]
weekly = ["daily 06:00-22:00"]
[groups.staff]
doors = ["front"]
schedule = "open"
[access]
unsynchronised_clock = "trust"
[attendance]
enabled = true
mode = "in"
liveness = "not required"
[mqtt]
host = "127.0.0.1"
port = $port
tls = false
node = "entrance"
names = true
kinds = ["access", "pulse", "attendance"]
END

shown() { sed -E 's/([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f-]{18,}/\1-…/g; s/[[:space:]]+$//'; }
say() {
    printf '$ edgefaced'
    for word in "$@"; do
        case $word in *" "*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    { edgefaced "$@" 2>&1 || [ $? -eq 1 ]; } | shown
}

say people import people.csv --photos photos
tomorrow=$(date -d tomorrow +%F)
say access test Ann --door front --at "$tomorrow 07:30"
say access test Ann --door front --at "$tomorrow 23:30"
say access test Bob --door front --at "$tomorrow 07:30"

mosquitto -c mosquitto.conf 2> broker.log &
broker=$!
until mosquitto_sub -h 127.0.0.1 -p "$port" -t '$SYS/broker/version' -C 1 > /dev/null 2>&1; do :; done
mosquitto_sub -h 127.0.0.1 -p "$port" -F '%t %p' -t 'edgefaced/entrance/event/#' > heard &
subscriber=$!
printf '$ edgefaced run &\n'
edgefaced run 2> run.log | shown > ran
cat ran
printf "\$ mosquitto_sub -F '%%t %%p' -t 'edgefaced/entrance/event/#'   # some of the fields\n"
python3 - <<'END'
import json

for line in open("heard"):
    topic, _, body = line.partition(" ")
    event = json.loads(body)
    kept = ("type", "name", "door", "granted", "reason", "milliseconds", "direction")
    print(topic, json.dumps({key: event[key] for key in kept if key in event}))
END
say events list --kind access --kind pulse --kind attendance
say attendance export -
say events verify
printf '$ cat pins/relay\n'
cat pins/relay

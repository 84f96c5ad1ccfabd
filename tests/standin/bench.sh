#!/bin/sh
# bench.sh POLYPATH_REPORT: measures on the stand-in driver, whose figures mean nothing but whose
# bytes must be right: natively, over several paths by streams and by graphs, from and to the host.
set -eu
report=$1
bench() {
  answer=$(echo "{\"source\": \"$1\", \"destination\": \"$2\", \"operation\": \"$3\",
    \"sizes\": [1000003, 16777216], \"executor\": \"$4\"$5}" | "$report" bench)
  driver=$(echo "$answer" | grep -c '"driver": "cuda"')
  right=$(echo "$answer" | grep -c '"verified": true')
  test "$driver" -eq 1 && test "$right" -eq 2 || { echo "$3 $1 $2 $4: $answer"; exit 1; }
}
bench gpu0 gpu1 put native ""
bench gpu0 gpu3 put stream ', "paths": ["direct", "gpu2", "host0"]'
bench gpu0 gpu1 put graph ', "paths": ["direct", "host0"]'
bench host0 gpu1 h2d stream ', "paths": ["direct", "gpu0"]'
bench gpu2 host0 d2h graph ', "paths": ["direct", "gpu3"]'

# Calibration measures real time, which means nothing here: it may well say that it does not believe
# its figures, but no call may fail.
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
status=0
words=$(echo '{}' | XDG_DATA_HOME="$folder" "$report" calibrate 2>&1) || status=$?
test "$status" -eq 0 || echo "$words" | grep -q "is not believed" || { echo "$words"; exit 1; }

#!/usr/bin/env bash
# Runs one whole search under valgrind: every process of it, from the supervisor to the worker, then
# its resume, its export and the commands that read it.
#
#   tests/valgrind.sh BIN FOLDER
#
# BIN holds the built programs. FOLDER/<pid>.log is what valgrind says of each process. Ends with 1 if
# one of them reads or writes memory it may not, uses what is not initialised, or loses memory. A
# process that was killed says nothing of what it lost.
set -u

bin=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"
folder=$(readlink -f "$folder")

valgrind --quiet --trace-children=yes --leak-check=full --show-leak-kinds=definite \
  --errors-for-leak-kinds=definite --log-file="$folder/%p.log" \
  "$bin/e2e_test" --gtest_filter='Search.IsReadExportedAndQueried' > "$folder/test.log" 2>&1
code=$?

bad=$(find "$folder" -name '*.log' ! -name test.log -size +0 | sort)
count=$(find "$folder" -name '[0-9]*.log' | wc -l)
if [ "$code" -eq 0 ] && [ -z "$bad" ]; then
  echo "valgrind: green: $count processes, no error"
  exit 0
fi
tail -n 20 "$folder/test.log"
for log in $bad; do
  head -n 30 "$log"
done
echo "valgrind: RED: $(wc -w <<< "$bad") of $count processes; their logs are in $folder"
exit 1

#!/usr/bin/env bash
# Runs clang-tidy over what CMake compiles, or over what changed, and prints one line a finding.
#
#   tests/tidy.sh              every source of the product
#   tests/tidy.sh REVISION     those that changed since REVISION of git, committed or not
#
# Nothing is compiled. clang-tidy spends its time on the headers of the system and of libraries, so it reads
# the groups of files that are compiled as one: then a header is read once for a room, not once for a file.
# SECONDS_AT_MOST=N starts no group after N seconds and says how many are left out.
# build/tidy/findings keeps the whole output, with the lines of source. Ends with 1 if anything is found.
set -u

root=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/..")
build=$root/build/tidy
cd "$root" || exit

say() { printf 'tidy: %s\n' "$*"; }

give_up() {
  say "$2" >&2
  exit "$1"
}

# A line for each file of each group in compile_commands.json: its path from the root, and the group. The
# kernels are left out: their headers have g++'s vectors and options, which clang does not know.
grouped_sources() {
  sed -nE '/_verify_interface_header_sets|kernels_(avx512|baseline)\.cpp/!s/^ *"file": "(.*)",?$/\1/p' \
    "$build/compile_commands.json" | grep -vE "^$root/(build/tidy/)?experiments/" |
    while read -r group; do
      case $group in
        */Unity/*) sed -n "s|^#include \"$root/\(.*\)\"\$|\1 $group|p" "$group" ;;
        *) printf '%s %s\n' "${group#"$root/"}" "$group" ;;
      esac
    done
}

# The largest first, and none that holds the files of another for another MPI.
groups() {
  awk '{ count[$2]++; files[$2] = files[$2] " " $1 }
    END { for (group in count)
            if (!seen[files[group]]++) print count[group], group }' "$build/sources" |
    sort -k 1,1nr -k 2 | cut -d ' ' -f 2
}

# A header is read with the source of its name, or else with one that includes it, from its own folder if it can.
source_for() {
  case $1 in
    *.cpp) printf '%s\n' "$1" ;;
    *.h) if [ -f "${1%.h}.cpp" ]; then printf '%s\n' "${1%.h}.cpp"; else source_for "$(includes "$1")"; fi ;;
  esac
}

includes() {
  local files
  for files in ":(glob)${1%/*}/*.cpp" '*.cpp' '*.h'; do
    git grep --untracked -lF "#include \"$1\"" -- "$files" | grep -xF -e "$(cut -d ' ' -f 1 "$build/sources")" \
      -e "$(git ls-files '*.h')" | head -n 1 | grep . && return
  done
}

# The groups with a source of what changed since a revision.
changed_groups() {
  { git diff --name-only --diff-filter=d "$1" -- && git ls-files --others --exclude-standard; } |
    while read -r file; do source_for "$file"; done |
    awk 'NR == FNR { changed[$1]; next } $1 in changed { print $2 }' - "$build/sources" |
    grep -xF -f - <(groups)
}

# clang-tidy on one group, unless the time is over; bodies of templates that nobody uses are not read.
read_group() {
  local output
  if [ "$(date +%s)" -ge "$last_start" ]; then
    printf '%s\n' "$1" >> "$build/left_out"
    return
  fi
  output=$(clang-tidy -p "$build" --quiet --extra-arg=-fdelayed-template-parsing "$1" 2> /dev/null)
  printf '%s' "${output:+$output$'\n'}" >> "$build/findings"
}

command -v clang-tidy > /dev/null || give_up 69 "clang-tidy is not installed"
mkdir -p "$build"
cmake --preset tidy > "$build/configured" 2>&1 || give_up 1 "CMake fails: $(tail -n 3 "$build/configured")"
grouped_sources > "$build/sources"
since=${1-}
if [ -n "$since" ]; then
  git rev-parse --quiet --verify "$since^{commit}" > /dev/null || give_up 2 "git knows no revision $since"
  list=$(changed_groups "$since")
else
  list=$(groups)
fi
count=$(grep -c . <<< "$list")
last_start=$(($(date +%s) + ${SECONDS_AT_MOST:-1000000}))
export build last_start
export -f read_group
: > "$build/findings"
: > "$build/left_out"
# shellcheck disable=SC2016
xargs -r -d '\n' -P "$(nproc)" -I '{}' bash -c 'read_group "$1"' read_group '{}' <<< "$list"
found=$(sed -nE "s,^($root/)?(.+:[0-9]+:[0-9]+: )(warning|error): ,\2,p" "$build/findings" | sort -u)
left_out=$(grep -c . "$build/left_out")
[ -z "$found" ] || printf '%s\n' "$found"
said="$(grep -c . <<< "$found") findings in $((count - left_out)) groups of files${since:+ that changed since $since}, $SECONDS s"
[ "$left_out" -eq 0 ] || said+="; $left_out groups were left out for time"
say "$said"
[ -z "$found" ]

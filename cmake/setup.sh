# shellcheck shell=bash
# Set-up shared by ./detol and ./test (sourced): packages, then a build of one preset.
# All it has to say goes to stderr; what apt and the compiler say goes to build/setup.log.
#
#   set_up <root> <preset> <section of packages.txt>...
#   set_up_packages <root> <section of packages.txt>...    packages alone
#
# Ends the script with 69 if something is missing that it may not install, or if the
# build fails. Concurrent first uses wait for each other.

say() { printf 'detol: %s\n' "$*" >&2; }

give_up() {
  say "$*"
  exit 69
}

# The packages of the given sections that are not installed, one per line.
missing_packages() {
  local root=$1 wanted
  shift
  command -v dpkg-query > /dev/null || return 0  # not Debian: CMake says what is missing
  wanted=$(awk -v sections=" $* " '
    /^\[/ { on = index(sections, " " substr($1, 2, length($1) - 2) " ") }
    on && /^[a-z0-9]/ { print $1 }' "$root/packages.txt" | sort)
  # shellcheck disable=SC2086
  comm -23 <(printf '%s\n' $wanted) <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted \
    2> /dev/null | awk '$1 == "installed" { print $2 }' | sort)
}

# Runs a command as root, its output in the log.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi >> "$log" 2>&1 9>&-
}

# RUNLEVEL=1: no daemon of a package is started; tests start those that they need.
apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -o DPkg::Lock::Timeout=300 -y "$@" < /dev/null
}

install_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ "${#missing[@]}" -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ] && ! sudo -n true 2> /dev/null; then
    say "packages are missing that this user may not install; an administrator must run:"
    printf 'apt-get install -y --no-install-recommends %s\n' "${missing[*]}" >&2
    exit 69
  fi
  say "installing ${missing[*]}"
  local install=(install --no-install-recommends "${missing[@]}")
  # Package lists may be absent or too old: only then is an update worth its time.
  apt_get "${install[@]}" || { apt_get update && apt_get "${install[@]}"; } || {
    tail -n 5 "$log" >&2
    give_up "apt-get failed; the whole story is in $log"
  }
}

# Follows ninja's output in the log; a line for every tenth of the build says which folder is being
# compiled and how long the rest takes at this pace.
show_progress() {
  local line shown=0 percent left start=$SECONDS
  while IFS= read -r line; do
    printf '%s\n' "$line" >> "$log"
    [[ $line =~ ^\[\ *([0-9]+)%\]\ .*\ ([a-z0-9_/]+)/CMakeFiles/ ]] || continue
    percent=${BASH_REMATCH[1]}
    if [ $((percent / 10)) -gt "$shown" ]; then
      shown=$((percent / 10))
      left=$(((SECONDS - start) * (100 - percent) / percent))
      say "  built ${shown}0 %, now ${BASH_REMATCH[2]}; about $((left / 60)):$(printf %02d $((left % 60))) min left"
    fi
  done
}

# As many compilers as there are cores, and no more than memory has room for: one takes up to 1.1 GB.
compile_jobs() {
  local cores room
  cores=$(nproc)
  room=$(awk '/^MemAvailable:/ { print int($2 / 1300000) }' /proc/meminfo)
  [ "$room" -ge 1 ] || room=1
  echo $((cores < room ? cores : room))
}

# How long a build takes: 280 to 500 seconds of processor time, by how fast a core is.
build_time() {
  local jobs
  jobs=$(compile_jobs)
  echo "$((280 / 60 / jobs + 1)) to $((500 / 60 / jobs + 1)) minutes"
}

# Configures and builds; `built` gets the time from before the first source was read.
build() {
  local root=$1 preset=$2 folder=$1/build/$2
  if [ ! -x "$folder/bin/detol" ]; then
    say "building (preset $preset, $(compile_jobs) jobs), once: $(build_time) on this machine"
    [ "$preset" = check ] || say "  machines of the same Debian need no build of their own: ./package makes a package of this one"
  fi
  touch "$root/build/started"
  if ! { configure && compile; }; then
    grep -E -m 5 -A 3 'error|Error' "$log" >&2 || tail -n 20 "$log" >&2
    give_up "the build failed; the whole story is in $log"
  fi
  mv "$root/build/started" "$folder/built"
}

configure() {
  [ "$folder/build.ninja" -nt "$root/CMakePresets.json" ] || (cd "$root" && cmake --preset "$preset" >> "$log" 2>&1)
}

compile() {
  set -o pipefail
  (cd "$root" && NINJA_STATUS='[%p] ' cmake --build --preset "$preset" -j "$(compile_jobs)") 2>&1 | show_progress
}

# Until the caller closes descriptor 9 no other set-up runs.
prepare() {
  local root=$1
  shift
  mkdir -p "$root/build" 2> /dev/null
  if [ ! -w "$root/build" ]; then
    give_up "cannot write to $root/build; make that folder writable, or run once as its owner"
  fi
  exec 9> "$root/build/.lock"
  flock -n 9 || {
    say "another process is setting detol up; waiting for it"
    flock 9
  }
  : > "$log"
  install_packages "$root" "$@"
}

set_up() {
  local root=$1 preset=$2 log=$1/build/setup.log
  shift 2
  prepare "$root" "$@"
  build "$root" "$preset"
  exec 9>&-
}

set_up_packages() {
  local log=$1/build/setup.log
  prepare "$@"
  exec 9>&-
}

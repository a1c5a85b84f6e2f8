#!/usr/bin/env bash
# `./dev run` on a Debian 12 that has nothing: cold, then warm. Makes a chroot in a temporary folder,
# puts a clone of the last commit there, and checks what the README promises.
#
#   tests/fresh/chroot.sh [MIRROR]
#
# Needs root, about 3 GB and the network; where one is missing it prints `skipped: REASON` and exits
# with status 77. MIRROR is by default the one this machine's apt uses. Every command runs in mount and
# process namespaces of its own, so that its mounts and processes end with it.
set -euo pipefail

cold_limit=600 # seconds
warm_limit=30
requests=19366
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

say() { echo "-- $*"; }

skip() {
  echo "skipped: $*"
  exit 77
}

# --- Whatever happens, nothing stays -------------------------------------------------------------

folder='' running=''

clean_up() {
  trap '' HUP INT TERM
  if [[ -n $running ]]; then
    kill -KILL "$running" 2> /dev/null || true
    wait "$running" 2> /dev/null || true
  fi
  [[ -z $folder ]] && return
  for _ in 1 2 3 4 5; do
    rm -rf --one-file-system "$folder" 2> /dev/null && return
    sleep 1 # the killed are still ending
  done
  echo "could not remove $folder" >&2
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# isolated OPTIONS... COMMAND: in the background, so that a signal ends it at once.
isolated() {
  unshare --mount --pid --fork --kill-child "$@" &
  running=$!
  local status=0
  wait "$running" || status=$?
  running=''
  return "$status"
}

inside() {
  isolated --mount-proc --root="$fresh" --wd=/srv/pinfold \
    env -i HOME=/ PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${proxies[@]}" "$@"
}

# --- What it needs -------------------------------------------------------------------------------

[[ $(id -u) -eq 0 ]] || skip "not root, and a chroot needs root"
isolated true 2> /dev/null || skip "namespaces are not allowed here"
folder=$(mktemp -d "${TMPDIR:-/tmp}/fresh.XXXXXX")
fresh=$folder/debian

if ! command -v debootstrap > /dev/null; then
  command -v apt-get > /dev/null || skip "no debootstrap, and no apt to install it"
  say "installing debootstrap"
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq debootstrap; } \
    > "$folder/apt.log" 2>&1 || skip "no debootstrap, and apt does not install it: $(tail -n 1 "$folder/apt.log")"
fi

# apt's own options of the network hold in the chroot too.
options=() proxies=()
if command -v apt-config > /dev/null; then
  mapfile -t options < <(apt-config dump | grep -E '^Acquire::(https?::|Retries|Check-)' || true)
  eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
fi
for name in http_proxy https_proxy no_proxy; do
  [[ -n ${!name:-} ]] && export "${name?}" && proxies+=("$name=${!name}")
done

mirror=${1:-}
if [[ -z $mirror ]] && command -v apt-get > /dev/null; then
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT) $(CREATED_BY)' 2> /dev/null \
    | awk '$2 == "bookworm" && $3 == "main" && $4 == "Packages" && !seen++ {print $1}')
fi
[[ -n $mirror ]] || skip "apt here knows no mirror of Debian 12; name one: tests/fresh/chroot.sh MIRROR"
wget -q -O /dev/null --timeout=20 --tries=2 "${mirror%/}/dists/bookworm/Release" 2> /dev/null \
  || skip "no network: the mirror does not answer"

# --- A Debian 12 and a clone ---------------------------------------------------------------------

passed=0 failed=0

check() { # check SENTENCE COMMAND...
  local sentence=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    say "failed: $sentence"
  fi
}

start=$SECONDS
if ! isolated debootstrap --variant=minbase bookworm "$fresh" "$mirror" > "$folder/debootstrap.log" 2>&1
then
  tail -n 20 "$folder/debootstrap.log"
  echo "0 passed, 1 failed"
  exit 1
fi
[[ -c $fresh/dev/null ]] || skip "device nodes are not allowed here"
[[ ${#options[@]} -gt 0 ]] && printf '%s\n' "${options[@]}" > "$fresh/etc/apt/apt.conf.d/99network"
cp /etc/hosts "$fresh/etc/hosts"
git -c safe.directory='*' clone --quiet --no-hardlinks "$root" "$fresh/srv/pinfold"
commit=$(git -C "$fresh/srv/pinfold" log -1 --format='%h %s')
say "a Debian 12 in $((SECONDS - start)) s; it gets the commit $commit"

# --- Cold and warm -------------------------------------------------------------------------------

run() { # run LABEL: sets status and took
  local start=$SECONDS
  status=0
  inside ./dev run > "$folder/$1.out" 2> "$folder/$1.err" || status=$?
  took=$((SECONDS - start))
  say "$1: $took s"
  ((status == 0)) || tail -n 20 "$folder/$1.err"
}

says() { grep -Eq "^$1 +$2\$" "$folder/cold.out"; }
all_installed() {
  local name
  while read -r name; do
    chroot "$fresh" dpkg-query -W -f '${db:Status-Status}' "$name" 2> /dev/null | grep -qx installed \
      || return 1
  done < <(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$root/.ci/packages.txt" | awk '{print $1}')
}
is_idle() { ! grep -qvx 'ninja: no work to do.' "$folder/warm.err"; }
is_clean() { [[ -z $(git -C "$fresh/srv/pinfold" status --porcelain) ]]; }

run cold
check "cold: exit status 0" test "$status" -eq 0
check "cold: installs what is missing" grep -q '^== installing:.* g++ ' "$folder/cold.err"
check "cold: every package is there" all_installed
check "cold: leaves build/pinfold" test -x "$fresh/srv/pinfold/build/pinfold"
check "cold: $requests requests complete" says 'Successful requests:' "$requests"
check "cold: none fails" says 'Failed requests:' 0
check "cold: the verdict is ok" says 'Verdict:' ok
check "cold: under $cold_limit s" test "$took" -lt "$cold_limit"
run warm
check "warm: exit status 0" test "$status" -eq 0
check "warm: installs and builds nothing" is_idle
check "warm: the same bytes" cmp -s "$folder/cold.out" "$folder/warm.out"
check "warm: under $warm_limit s" test "$took" -lt "$warm_limit"
check "git sees no new file" is_clean

echo "$passed passed, $failed failed"
exit $((failed > 0))

#!/bin/sh
# Run the README's two commands as a newcomer has them: on a system with Python, make and git, and nothing else that tests could use.
#
#   sh scripts/fresh.sh                     make test twice, then make run; as root, then as an ordinary user
#   sh scripts/fresh.sh root 'make test'    one command, as root or as user, on what was committed last
#
# The system is an overlay of this machine's own root, seen by these processes alone: what they remove or install is gone at the end.
# It needs root, and a kernel with overlayfs.
set -eu

PROGRAMS="bwrap rg chromium chromium-browser google-chrome google-chrome-stable chrome node nodejs npm npx corepack uv uvx
  cc c++ c89 c99 gcc g++ clang go cargo rustc rustup java javac mvn gradle docker podman psql ollama gh tmux"
PACKAGES="bubblewrap ripgrep chromium chromium-common chromium-driver"  # what a test's command may install, so that it can
VARIABLES="http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY SSL_CERT_FILE NODE_EXTRA_CA_CERTS PIP_INDEX_URL PIP_CERT UV_INDEX_URL NPM_CONFIG_REGISTRY npm_config_registry CI"

main() {
  case $# in
    0) for who in root user; do outside $who 'make test && make test && sh scripts/try_run.sh'; done ;;
    2) outside "$@" ;;
    4) shift && inside "$@" ;;
    *) sed -n '2,7s/^# \{0,1\}//p' "$0" && exit 2 ;;
  esac
}

# outside WHO COMMAND: a folder with a clone, and a process with mounts and processes of its own
outside() {
  [ "$(id -u)" = 0 ] || { echo "make fresh needs root, to make a system of its own." >&2; exit 1; }
  cd "$(dirname "$0")/.."
  base=$(mktemp -d)
  trap 'rm -rf "$base"' EXIT
  mkdir "$base/changes" "$base/work" "$base/root" "$base/srv" "$base/tmp"
  chmod 755 "$base/srv" && chmod 1777 "$base/tmp"
  git clone --quiet . "$base/srv/checkout"
  [ ! -d ../shared ] || cp -r ../shared "$base/srv/shared"
  unshare --mount --pid --fork --kill-child --propagation private sh -eu scripts/fresh.sh inside "$base" "$1" "$2"
  rm -rf "$base"
}

# inside BASE WHO COMMAND
inside() {
  cd "$1"
  mount -t overlay overlay -o "lowerdir=/,upperdir=$1/changes,workdir=$1/work" root
  chroot root dpkg --force-all --remove $PACKAGES >/dev/null 2>&1 || true
  for folder in usr/local/sbin usr/local/bin usr/sbin usr/bin; do
    for name in $PROGRAMS; do  # under any version or target: gcc-12, aarch64-linux-gnu-gcc
      rm -f "root/$folder/$name" "root/$folder/$name"-[0-9]* "root/$folder"/*-linux-gnu-"$name" "root/$folder"/*-linux-gnu-"$name"-[0-9]*
    done
  done
  rm -rf root/usr/local/bin/* root/usr/lib/node_modules root/usr/local/lib/node_modules root/opt/*
  mkdir -p root/old
  mount -t tmpfs -o mode=700 tmpfs root/root
  mount -t tmpfs -o mode=755 tmpfs root/home
  mount --bind srv root/srv
  mount --bind tmp root/tmp
  mount --rbind /dev root/dev
  mount --rbind /sys root/sys
  mount -t proc proc root/proc
  id=0 home=/root
  if [ "$2" = user ]; then
    id=12345 home=/home/newcomer
    echo "newcomer:x:$id:$id::$home:/bin/sh" >>root/etc/passwd
    echo "newcomer:x:$id:" >>root/etc/group
    mkdir root/home/newcomer
    chown -R "$id:$id" root/srv/checkout root/home/newcomer
  fi
  cd root
  pivot_root . old  # rather than chroot, in which no user namespace can be made
  umount -l /old
  cd /srv/checkout
  command=$3
  # not by exec: this shell is the first process here, and when it is killed the kernel ends all others
  set -- "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin" "HOME=$home" LANG=C.UTF-8 TREADLE_FRESH=1
  for name in $VARIABLES; do
    eval "value=\${$name-}"
    [ -z "$value" ] || set -- "$@" "$name=$value"
  done
  setpriv --reuid "$id" --regid "$id" --clear-groups env -i "$@" sh -c "$command"
}

main "$@"

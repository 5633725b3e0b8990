#!/bin/sh
# Make or refresh .venv in the checkout.
#   sh tools/environment.sh run     gpudoctor itself
#   sh tools/environment.sh test    and all that its tests, lint, types and tables need (Debian packages too)
# What has been done is written to .venv, so that a second call takes a few milliseconds.
set -eu
cd "$(dirname "$0")/.."
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV
wanted=$1

say() { printf '%s\n' "$*" >&2; }

find_python() {
    for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
        [ -n "$candidate" ] || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    say "gpudoctor needs Python 3.10 or newer, and there is none on PATH (name one: make PYTHON=/path/to/python3)"
    return 1
}

install_packages() {
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing Debian packages: $*"
        export DEBIAN_FRONTEND=noninteractive
        apt-get update -q </dev/null >/dev/null && apt-get install -qy --no-install-recommends "$@" </dev/null >/dev/null
    else
        say "these packages are missing, and installing them needs root: apt-get install $*"
        return 1
    fi
}

need_compiler() {
    if ! printf '#include <stdio.h>\n' | gcc -shared -fPIC -x c - -o /dev/null 2>/dev/null; then
        install_packages gcc libc6-dev
    fi
}

# what the lines of `gpudoctor env` are tried in
need_shells() {
    missing=
    for shell in zsh fish; do command -v "$shell" >/dev/null || missing="$missing $shell"; done
    [ -e /lib/systemd/systemd ] || missing="$missing systemd"
    # shellcheck disable=SC2086  # several words
    [ -z "$missing" ] || install_packages $missing || say "the tests of these shells will be skipped"
}

# what generated Dockerfiles are built with, and what reads the file for Compose
need_engine() {
    [ "$(id -u)" = 0 ] || return 0
    { command -v dockerd && command -v debootstrap; } >/dev/null ||
        install_packages docker.io debootstrap || say "the tests that build images will be skipped"
    command -v ip >/dev/null || install_packages iproute2 || say "the tests of dnf, zypper and pacman will be skipped"
    command -v openssl >/dev/null || install_packages openssl || say "the tests of an engine by TLS will be skipped"
    command -v podman >/dev/null || install_packages podman runc || say "the test of Podman's socket will be skipped"
    command -v docker-compose >/dev/null ||
        install_packages docker-compose || say "the test of the file for Compose will be skipped"
}

# under what the programs of integrations/ are tried, and what reads them
need_cluster() {
    [ "$(id -u)" = 0 ] || return 0
    { command -v slurmctld && command -v slurmd && command -v scontrol && command -v munged; } >/dev/null ||
        install_packages slurmctld slurmd slurm-client munge || say "the tests under Slurm will be skipped"
    command -v shellcheck >/dev/null ||
        install_packages shellcheck || say "the test of shell programs by shellcheck will be skipped"
}

# what the manual page and the page of a report are looked at in
need_readers() {
    command -v groff >/dev/null || install_packages groff-base || say "the test of the manual page will be skipped"
    command -v chromium-headless-shell chromium >/dev/null ||
        install_packages chromium-headless-shell fonts-dejavu-core || say "the tests in a browser will be skipped"
}

make_venv() {
    python=$(find_python)
    "$python" -c 'import ensurepip' 2>/dev/null || install_packages python3-venv
    say "making .venv with $python"
    [ ! -L .venv ] || rm .venv  # the environment of another checkout: --clear would empty that one
    "$python" -m venv --clear .venv
    printf '%s\n%s\n' "$(pwd)" "$python" >.venv/gpudoctor-place
}

# A moved or copied checkout, a Python that is gone, and another one that was asked for need a new environment.
venv_is_ours() {
    { read -r place && read -r python; } <.venv/gpudoctor-place && [ "$place" = "$(pwd)" ] &&
        [ "${PYTHON:-$python}" = "$python" ] && .venv/bin/python -c ''
}
venv_is_ours 2>/dev/null || make_venv

[ "$wanted" = run ] || { need_compiler && need_shells && need_engine && need_cluster && need_readers; }

# Installing compiles the rules (hatch_build.py); afterwards they are compiled again when a page or a table has changed.
compile_rules() {
    changed=$(find rules gpudoctor/compiled.py gpudoctor/pages.py ! -path rules ! -name '*.json' \
        ! -name '*.jsonl' ! -name '*.part' -newer rules/db.json 2>/dev/null | head -n 1)
    if [ -n "$changed" ] || [ ! -e rules/db.json ]; then .venv/bin/python -m tools.compile_rules >&2; fi
}

made_from=$(cat pyproject.toml constraints/development.txt gpudoctor/__init__.py tools/environment.sh | cksum)
for level in "$wanted" test; do
    if [ "$(cat ".venv/gpudoctor-$level" 2>/dev/null)" = "$made_from" ]; then
        compile_rules
        exit 0
    fi
done
say "installing gpudoctor and what it needs into .venv ($wanted)"
pip() { .venv/bin/python -m pip --disable-pip-version-check --quiet "$@" </dev/null; }
pip install --constraint constraints/development.txt --upgrade pip
case $wanted in
    run) pip install --constraint constraints/development.txt --editable . ;;
    test) pip install --constraint constraints/development.txt --group dev --editable '.[docker]' ;;
esac
printf '%s\n' "$made_from" >".venv/gpudoctor-$wanted"

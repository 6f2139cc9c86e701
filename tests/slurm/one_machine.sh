#!/usr/bin/env bash
# A Slurm cluster of this one machine, without systemd, in a folder of its own: for tests of `--launcher slurm`. Needs root, and
# slurmctld, slurmd, slurm-client, slurm-wlm-basic-plugins and munge (experiments/setup/packages.txt). Nothing outside of the folder
# changes; other Slurms of the machine are not touched.
#
#   one_machine.sh start DIR      prints what to export; DIR is made
#   one_machine.sh stop DIR       cancels what runs, ends the daemons
set -euo pipefail

nodes=2

write_config() {
  cat > "$dir/slurm.conf" <<CONF
ClusterName=cosched-test
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge.sock
StateSaveLocation=$dir/ctld
SlurmdSpoolDir=$dir/d.%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.%n.pid
SlurmctldLogFile=$dir/log/ctld.log
SlurmdLogFile=$dir/log/d.%n.log
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
NodeName=n[1-$nodes] NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + nodes))] CPUs=1 State=UNKNOWN
PartitionName=all Nodes=n[1-$nodes] Default=YES MaxTime=INFINITE State=UP
CONF
}

# A process that has ended but was not waited for counts as gone.
alive() {
  [ -r "/proc/$1/stat" ] && [ "$(sed 's/.*) //; s/ .*//' "/proc/$1/stat")" != Z ]
}

start() {
  mkdir -p "$dir/ctld" "$dir/log"
  chmod 700 "$dir"
  # Far from other clusters' ports, and another for each folder.
  port=$((20000 + $(printf %s "$dir" | cksum | cut -d' ' -f1) % 20000))
  write_config
  dd if=/dev/urandom of="$dir/munge.key" bs=128 count=1 status=none
  chmod 600 "$dir/munge.key"
  munged --force --key-file="$dir/munge.key" --socket="$dir/munge.sock" --pid-file="$dir/munged.pid" \
    --log-file="$dir/log/munged.log" --seed-file="$dir/munge.seed"
  export SLURM_CONF="$dir/slurm.conf"
  slurmctld -c
  for n in $(seq "$nodes"); do slurmd -N "n$n"; done
  for _ in $(seq 300); do
    if [ "$(sinfo -h -o %T 2>/dev/null)" = idle ]; then
      echo "export SLURM_CONF=$SLURM_CONF"
      return
    fi
    sleep 0.1
  done
  echo "the nodes did not become idle:" >&2
  tail -n 20 "$dir"/log/*.log >&2
  stop
  exit 1
}

stop() {
  export SLURM_CONF="$dir/slurm.conf"
  # slurmd would wait for steps that still run.
  scancel -u root 2>/dev/null || true
  for _ in $(seq 100); do
    [ -z "$(squeue -h 2>/dev/null)" ] && break
    sleep 0.1
  done
  local pids=()
  for file in "$dir"/slurmd.*.pid "$dir/slurmctld.pid" "$dir/munged.pid"; do
    [ -r "$file" ] && pids+=("$(cat "$file")")
  done
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
  for pid in "${pids[@]}"; do
    for _ in $(seq 100); do
      alive "$pid" || break
      sleep 0.1
    done
  done
}

[ $# -eq 2 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
mkdir -p "$2"
dir=$(cd "$2" && pwd)
case $1 in
  start) start ;;
  stop) stop ;;
  *) echo "one_machine.sh: start or stop, not $1" >&2; exit 2 ;;
esac

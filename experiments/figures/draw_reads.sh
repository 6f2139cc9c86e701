#!/bin/sh
# Makes what figures of align-sort read, in inputs/ beside this script: the genome of E. coli 536 (Debian's bowtie-examples), and pairs
# of reads that wgsim (samtools) draws from it. The same bytes each time; what is there stays.
set -eu
cd "$(dirname "$0")"
GENOME=/usr/share/doc/bowtie/examples/genomes/NC_008253.fna.gz
[ -e inputs/ecoli.fa ] && [ -e inputs/reads_1.fq ] && [ -e inputs/reads_2.fq ] && exit 0
[ -e "$GENOME" ] || { echo "draw_reads.sh: no $GENOME: apt-get install bowtie-examples" >&2; exit 1; }
command -v wgsim > /dev/null || { echo "draw_reads.sh: no wgsim: apt-get install samtools" >&2; exit 1; }
mkdir -p inputs
new=$(mktemp -d inputs/new.XXXXXX)  # Beside them: a file is moved whole, or not.
trap 'rm -rf "$new"' EXIT
zcat "$GENOME" > "$new/ecoli.fa"
wgsim -S 1 -N 2000 -1 101 -2 101 "$new/ecoli.fa" "$new/reads_1.fq" "$new/reads_2.fq" > /dev/null
mv "$new/ecoli.fa" "$new/reads_1.fq" "$new/reads_2.fq" inputs/

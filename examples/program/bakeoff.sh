# A client of bakeoff in sh. Copy this file beside your program, and say there:
#
#     . ./bakeoff.sh
#     buy() { psql -qc "UPDATE …" "$BAKEOFF_URL"; }      # $1 is the operation's number
#     serve
#
# An operation is a function. Where it fails, the operation has failed. A shell starts a process an
# operation, which is in every figure: it is for trying something, not for measuring a fast database.

# Says in an operation that transactions of it were run again.
retried() {
    echo "retry ${1:-1}" >&3
}

# Says in an operation that the database has promised to keep this key.
ack() {
    echo "ack $1" >&3
}

# Runs operations until bakeoff says stop. What they print goes to the run's log.
serve() {
    echo ready >&3
    while read -r word operation number <&3; do
        case $word in
        do) if "$operation" "$number" 3>&3; then echo ok >&3; else echo "error exit code $?" >&3; fi ;;
        stop) return ;;
        esac
    done
}

/* A client of bakeoff in C. Copy this file beside your program, and say there:
 *
 *     #include "bakeoff.h"
 *     static int buy(long number) { … return 0; }
 *     int main(void) {
 *         static const struct bakeoff_operation all[] = {{"buy", buy}};
 *         return bakeoff_serve(all, 1);
 *     }
 *
 * Connect before that: what bakeoff_serve() is given is timed. An operation gets its number, which is the
 * same in every run with the same seed. It returns 0, or a code of its own where it has failed. */
#ifndef BAKEOFF_H
#define BAKEOFF_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bakeoff_operation {
    const char *name;
    int (*run)(long number);
};

static FILE *bakeoff_socket;

/* Says in an operation that transactions of it were run again. */
__attribute__((unused)) static void bakeoff_retried(long times) {
    fprintf(bakeoff_socket, "retry %ld\n", times);
}

/* Says in an operation that the database has promised to keep this key. */
__attribute__((unused)) static void bakeoff_ack(const char *key) {
    fprintf(bakeoff_socket, "ack %s\n", key);
}

/* Runs operations until bakeoff says stop. Returns what main returns. */
static int bakeoff_serve(const struct bakeoff_operation *all, int count) {
    int descriptor = atoi(getenv("BAKEOFF_FD")), code, at;
    FILE *lines = fdopen(descriptor, "r");
    char line[4098], name[4098];
    long number;
    if (!lines || !(bakeoff_socket = fdopen(descriptor, "w"))) return 1;
    setvbuf(bakeoff_socket, NULL, _IOLBF, 0);
    fputs("ready\n", bakeoff_socket);
    while (fgets(line, sizeof line, lines) && strcmp(line, "stop\n")) {
        if (sscanf(line, "do %s %ld", name, &number) != 2) continue;
        for (at = 0; at < count && strcmp(all[at].name, name);) at++;
        code = at < count ? all[at].run(number) : -1;
        if (code) fprintf(bakeoff_socket, "error code %d\n", code);
        else fputs("ok\n", bakeoff_socket);
    }
    return 0;
}
#endif

/* stopping.c - the first signal is a request, the second an order.
 *
 * Some who send signals send each of them twice: timeout(1) tells its child, and then the group
 * that the child is in. What comes within SAME of the first is therefore the same request.
 */
#include "stopping.h"

#include <unistd.h>

volatile sig_atomic_t stopping_signal;
static stream_reader *volatile interruptible;
static void (*volatile before_leaving)(void);
static volatile int64_t asked; /* when the first signal came */

#define SAME INT64_C(100000000) /* ns */

static void on_signal(int number) {
    if (stopping_signal) {
        if (clock_now(CLOCK_MONOTONIC) - asked < SAME) return;
        if (before_leaving) before_leaving();
        _exit(128 + number);
    }
    asked = clock_now(CLOCK_MONOTONIC);
    stopping_signal = number;
    if (interruptible) stream_interrupt(interruptible);
}

void stopping_catch(void (*last_words)(void)) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal}, old;
    before_leaving = last_words;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        /* what was ignored stays ignored: nohup */
        if (!sigaction(numbers[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error to be told */
}

void stopping_interrupts(stream_reader *reader) { interruptible = reader; }

int64_t clock_now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

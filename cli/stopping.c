/* stopping.c - the first signal is a request, the second an order. */
#include "stopping.h"

#include <unistd.h>

volatile sig_atomic_t stopping_signal;
static stream_reader *volatile interruptible;
static void (*volatile before_leaving)(void);

static void on_signal(int number) {
    if (stopping_signal) {
        if (before_leaving) before_leaving();
        _exit(128 + number);
    }
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
}

void stopping_interrupts(stream_reader *reader) { interruptible = reader; }

int64_t clock_now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

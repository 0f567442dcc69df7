/* state_lock.h - one run at a time on a state file. */
#ifndef WEIR_STATE_LOCK_H
#define WEIR_STATE_LOCK_H

typedef struct {
    int fd;     /* -1: not held */
    char *path; /* of the lock file */
} state_lock;

/* Take the lock of a state file: 0, or EXIT_TROUBLE after a message that says
 * who has it or what went wrong. */
int state_lock_take(state_lock *lock, const char *state_path);

/* Give it back, and leave no lock file behind. */
void state_lock_drop(state_lock *lock);

#endif

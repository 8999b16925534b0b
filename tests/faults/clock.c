/* A wall clock that is as many seconds off as the file SLUICE_CLOCK_FILE says (an int64), for one process tree: preloaded by
   tests/faults/test_clock.py, which writes into the file while the processes run.
   The monotonic clock stays as it is, and who waits until a time by the wrong clock waits as long as meant: librdkafka does. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *told;

/* Mapped, not read: a JVM asks for the time a million times a second. */
__attribute__((constructor)) static void map(void) {
    const char *path = getenv("SLUICE_CLOCK_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *mapped = mmap(NULL, sizeof *told, PROT_READ, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) told = mapped;
    close(file);
}

static long seconds_off(void) {
    return told ? *told : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += seconds_off();
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec precise;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *also) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (also) *also = now.tv_sec;
    return now.tv_sec;
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const struct timespec *restrict until) {
    const long since_boot_at_most = 1000000000; /* seconds: later times are of the wall clock, whichever the condition goes by */
    if (until->tv_sec < since_boot_at_most) return pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, until);
    struct timespec right = {until->tv_sec - seconds_off(), until->tv_nsec};
    return pthread_cond_clockwait(condition, mutex, CLOCK_REALTIME, &right);
}

/* glibc's conditions of C are those of POSIX under another name, and its cnd_timedwait does not ask the function above. */
int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict until) {
    int failed = pthread_cond_timedwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex, until);
    return failed == ETIMEDOUT ? thrd_timedout : failed ? thrd_error : thrd_success;
}

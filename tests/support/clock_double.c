/* A wall clock that a test holds, for a process that has this preloaded: the file that is named in
 * CLOCK_DOUBLE has two numbers of 64 bits, by how many nanoseconds the clock is wrong and whether the
 * kernel says that it is synchronised. Time since the boot is left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>

#define BILLION 1000000000

static const volatile int64_t *told(void)
{
    static const volatile int64_t *seen;
    static const int64_t right[2] = {0, 1};
    if (!seen) {
        const char *name = getenv("CLOCK_DOUBLE");
        int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
        void *memory = file < 0 ? MAP_FAILED : mmap(0, 16, PROT_READ, MAP_SHARED, file, 0);
        seen = memory == MAP_FAILED ? right : memory;
    }
    return seen;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = dlsym(RTLD_NEXT, "clock_gettime");
    int answer = real(clock, now);
    if (!answer && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t wrong = told()[0];
        now->tv_sec += wrong / BILLION;
        now->tv_nsec += wrong % BILLION;
        if (now->tv_nsec < 0) {
            now->tv_sec--;
            now->tv_nsec += BILLION;
        } else if (now->tv_nsec >= BILLION) {
            now->tv_sec++;
            now->tv_nsec -= BILLION;
        }
    }
    return answer;
}

int gettimeofday(struct timeval *now, void *zone)
{
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now)
{
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (now)
        *now = exact.tv_sec;
    return exact.tv_sec;
}

int adjtimex(struct timex *state)
{
    state->maxerror = told()[1] ? 1000 : 16000000;
    state->esterror = state->maxerror;
    return told()[1] ? TIME_OK : TIME_ERROR;
}

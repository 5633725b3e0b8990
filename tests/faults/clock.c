/* A clock that is wrong or jumps, for the process that it is loaded into (LD_PRELOAD): the wall clock alone.

   CLOCK_JUMP names the kind: "back" a year at every look, "ahead" a year at every look, "wild" now this and now that,
   "zero" for the beginning of time, "far" for the year 2200. The monotonic clock is left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#define YEAR_SECONDS 31557600L
#define FAR_SECONDS 7258118400L

static long looks;

static time_t jumped(time_t now)
{
    const char *kind = getenv("CLOCK_JUMP");
    long look = __sync_fetch_and_add(&looks, 1);
    if (!kind)
        return now;
    if (!strcmp(kind, "back"))
        return now - look % 40 * YEAR_SECONDS;
    if (!strcmp(kind, "ahead"))
        return now + look % 100 * YEAR_SECONDS;
    if (!strcmp(kind, "wild"))
        return now + (look * 7919 % 201 - 100) * (YEAR_SECONDS / 4);
    return strcmp(kind, "zero") ? FAR_SECONDS : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int rc = real(clock, time);
    if (!rc && clock == CLOCK_REALTIME)
        time->tv_sec = jumped(time->tv_sec);
    return rc;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    int rc = clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return rc;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}

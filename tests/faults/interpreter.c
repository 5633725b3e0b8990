/* A Python interpreter that misbehaves while one collector of gpudoctor runs, and is the real one otherwise.

   It is called as `python .../payloads/__main__.py COLLECTOR ANSWER_DESCRIPTOR REQUEST`, as `python PAYLOAD
   --collect COLLECTOR ANSWER_DESCRIPTOR REQUEST` where an examined process lives, and as `python
   .../payloads/launch.py ANSWER_DESCRIPTOR` on the way there. What to do stands in the file FAULT_FILE:
   COLLECTOR (or launch), KIND and a number. KIND names a function below; one that returns lets the real
   interpreter go on, so that its answer must still arrive.

   As `python --sleep FILE` it is itself a process to be examined, with that file mapped. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FAULT_FILE "/run/gpudoctor-fault"
#define FLOOD_BYTES (30L * 1000 * 1000)  /* thirty times what is kept of a stream */
#define ANSWER_FLOOD_BYTES (70L * 1000 * 1000)  /* more than an answer may have */
#define WORD_BYTES 64
#define SPOILT_WORDS 16
#define OPTIONS 6  /* the collector is named before this word, the request comes later */

static int answer_descriptor;
static long number;
static char kind[WORD_BYTES];

static void sleep_for_ever(void)
{
    for (;;)
        pause();
}

static void crash(void)
{
    *(volatile int *)0 = 1;
}

static void killed(void)
{
    raise(SIGKILL);
}

static void fail(void)
{
    fputs("the interpreter cannot start\n", stderr);
    exit(3);
}

static void silent(void)
{
    exit(0);
}

/* Every signal that can be blocked and ignored is. */
static void deaf(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (int signal_number = 1; signal_number < NSIG; signal_number++)
        signal(signal_number, SIG_IGN);
    sleep_for_ever();
}

static void stopped(void)
{
    for (;;)
        raise(SIGSTOP);
}

/* The parent of a vfork sleeps in the kernel until its child ends or runs another program. */
static void vforked(void)
{
    if (!vfork())
        sleep_for_ever();
}

/* Sleep in the kernel where not even SIGKILL is heard: the file system there never answers (see fuse.c). */
static void unkillable(void)
{
    open("/run/silent/file", O_RDONLY);
    sleep_for_ever();
}

/* Leave a process in a session of its own that holds every stream, and hang as well. */
static void daemon_left(void)
{
    if (!fork()) {
        setsid();
        sleep_for_ever();
    }
    sleep_for_ever();
}

/* Go on, but with a process left behind that holds every stream and never ends. */
static void orphan_left(void)
{
    if (!fork()) {
        setsid();
        sleep_for_ever();
    }
}

static void flood(int descriptor, long bytes)
{
    static char line[4096];
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    while (bytes > 0 && write(descriptor, line, sizeof line) > 0)
        bytes -= sizeof line;
}

static void flood_stdout(void)
{
    flood(STDOUT_FILENO, FLOOD_BYTES);
}

static void flood_stderr(void)
{
    flood(STDERR_FILENO, FLOOD_BYTES);
}

static void flood_for_ever(void)
{
    for (;;) {
        flood(STDOUT_FILENO, FLOOD_BYTES);
        flood(STDERR_FILENO, FLOOD_BYTES);
    }
}

static void flood_answer(void)
{
    flood(answer_descriptor, ANSWER_FLOOD_BYTES);
    exit(0);
}

static void say(const char *bytes, size_t length)
{
    if (write(answer_descriptor, bytes, length) != (ssize_t)length)
        exit(4);
    exit(0);
}

static void junk(void)
{
    char bytes[4096];
    for (size_t at = 0; at < sizeof bytes; at++)
        bytes[at] = (char)(at * 2654435761u >> 13);
    say(bytes, sizeof bytes);
}

static void invalid_utf8(void)
{
    static const char bytes[] = "{\"python\": \"\xff\xfe\xc3(\xed\xa0\x80\"}";
    say(bytes, sizeof bytes - 1);
}

static void slow(void)
{
    sleep((unsigned)number);
}

static void closed_answer(void)
{
    close(answer_descriptor);
}

static void limit(int what, rlim_t most)
{
    struct rlimit both = {most, most};
    setrlimit(what, &both);
}

static void no_memory(void)
{
    limit(RLIMIT_AS, 12 << 20);
}

static void no_descriptors(void)
{
    limit(RLIMIT_NOFILE, 3);
}

static void no_processor_time(void)
{
    struct rlimit one_second = {1, 2};
    setrlimit(RLIMIT_CPU, &one_second);
    for (;;)
        ;
}

static const struct {
    const char *name;
    void (*misbehave)(void);
} kinds[] = {
    {"crash", crash},           {"abort", abort},
    {"killed", killed},         {"fail", fail},
    {"silent", silent},         {"hang", sleep_for_ever},
    {"deaf", deaf},             {"stopped", stopped},
    {"vforked", vforked},       {"unkillable", unkillable},
    {"daemon", daemon_left},    {"orphan", orphan_left},
    {"flood-stdout", flood_stdout}, {"flood-stderr", flood_stderr},
    {"flood-for-ever", flood_for_ever}, {"flood-answer", flood_answer},
    {"junk", junk},             {"invalid-utf8", invalid_utf8},
    {"slow", slow},             {"closed-answer", closed_answer},
    {"no-memory", no_memory},   {"no-descriptors", no_descriptors},
    {"no-processor-time", no_processor_time},
};

/* What gpudoctor asks in one child, in a series; whoever breaks it breaks that child, and then its own. */
static const char *const in_series[] = {"system", "driver", "container", "toolkit", "loader", "environment"};

static int is_in_series(const char *collector)
{
    for (size_t at = 0; at < sizeof in_series / sizeof *in_series; at++)
        if (!strcmp(in_series[at], collector))
            return 1;
    return 0;
}

/* Return where the collector's name stands, 0 for nowhere; that of the launcher is the path of its file. */
static int name_at(int argc, char **argv)
{
    for (int at = 1; at + 1 < argc && at < OPTIONS; at++) {
        if (strstr(argv[at], "/payloads/launch.py"))
            return at;
        if (at + 3 < argc && (strstr(argv[at], "/payloads/__main__.py") || !strcmp(argv[at], "--collect")))
            return at + 1;
    }
    return 0;
}

/* Say whether this run is one that the fault file names: argv[at] is the collector, or the series it is in. */
static int is_the_one(char **argv, int at, char *collector)
{
    FILE *file = at ? fopen(FAULT_FILE, "r") : NULL;
    int words = file ? fscanf(file, "%63s %63s %ld", collector, kind, &number) : 0;
    if (file)
        fclose(file);
    if (words != 3)
        return 0;
    if (strchr(argv[at], '/'))
        return !strcmp(collector, "launch");
    return !strcmp(collector, argv[at]) || (!strcmp("series", argv[at]) && is_in_series(collector));
}

static void sleep_with(const char *path)
{
    int file = open(path, O_RDONLY);
    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
    sleep_for_ever();
}

/* Let a script run the real interpreter and spoil its answer; see spoil.py. */
static void spoil(char **argv, char *collector)
{
    char *spoilt[SPOILT_WORDS] = {argv[0], SPOIL_SCRIPT, kind, collector, REAL_PYTHON};
    for (int at = 1; argv[at] && at + 5 < SPOILT_WORDS; at++)
        spoilt[at + 4] = argv[at];
    execv(REAL_PYTHON, spoilt);
}

int main(int argc, char **argv)
{
    char collector[WORD_BYTES];
    int at = name_at(argc, argv);
    if (argc == 3 && !strcmp(argv[1], "--sleep"))
        sleep_with(argv[2]);
    if (is_the_one(argv, at, collector)) {
        answer_descriptor = atoi(argv[at + 1]);
        for (size_t one = 0; one < sizeof kinds / sizeof *kinds; one++)
            if (!strcmp(kinds[one].name, kind)) {
                kinds[one].misbehave();
                kind[0] = '\0';
            }
        if (kind[0])
            spoil(argv, collector);
    }
    execv(REAL_PYTHON, argv);
    perror(REAL_PYTHON);
    return 127;
}

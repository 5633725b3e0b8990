/* Reads the script and does what it says; see script.h and README.md. */
#define _GNU_SOURCE
#include "script.h"

#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#define SCRIPT_DEFAULT_PATH "/run/gpudoctor-shim.cfg"
#define SCRIPT_BYTES (1 << 20)

#ifndef SCRIPT_PREFIX
/* A build with a prefix (the "compat" libcuda) prefers "compat.cuda" over "cuda", and so on. */
#define SCRIPT_PREFIX ""
#endif

/* The text begins with a line break, so that "\nkey=" finds a key only where a line begins. */
static char script_text[SCRIPT_BYTES];

__attribute__((constructor)) static void script_load(void)
{
    const char *path = getenv("GPUDOCTOR_SHIM");
    FILE *file = fopen(path && *path ? path : SCRIPT_DEFAULT_PATH, "r");
    script_text[0] = '\n';
    if (!file)
        return;
    size_t bytes = fread(script_text + 1, 1, SCRIPT_BYTES - 2, file);
    script_text[bytes + 1] = '\0';
    fclose(file);
}

/* Copy the value of exactly this key; 1 when the script has it. */
static int script_find(const char *key, char *value)
{
    char line_start[KEY_BYTES + 3];
    snprintf(line_start, sizeof line_start, "\n%s=", key);
    const char *at = strstr(script_text, line_start);
    if (!at)
        return 0;
    at += strlen(line_start);
    size_t length = strcspn(at, "\r\n");
    if (length >= VALUE_BYTES)
        length = VALUE_BYTES - 1;
    memcpy(value, at, length);
    value[length] = '\0';
    return 1;
}

/* Copy the value of a formatted key into value (VALUE_BYTES long); 1 when the script has it. */
int script_value(char *value, const char *format, ...)
{
    char key[KEY_BYTES] = SCRIPT_PREFIX;
    size_t prefix = strlen(key);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(key + prefix, sizeof key - prefix, format, arguments);
    va_end(arguments);
    if (prefix && script_find(key, value))
        return 1;
    return script_find(key + prefix, value);
}

long long script_number(const char *key, long long otherwise)
{
    char value[VALUE_BYTES];
    return script_value(value, "%s", key) ? strtoll(value, NULL, 0) : otherwise;
}

/* "nvmlDeviceGetCount_v2" -> "nvmlDeviceGetCount", so that a script need not know suffixes. */
void script_base_name(const char *function, char *base)
{
    snprintf(base, KEY_BYTES, "%s", function);
    size_t length = strlen(base);
    if (length > 3 && base[length - 3] == '_' && base[length - 2] == 'v')
        base[length - 3] = '\0';
}

/* The value of KIND.FUNCTION, or of KIND.FUNCTION without its version suffix. */
static int script_fault_value(char *value, const char *kind, const char *function)
{
    char base[KEY_BYTES];
    script_base_name(function, base);
    return script_value(value, "%s.%s", kind, function) || script_value(value, "%s.%s", kind, base);
}

/* log=FILE: one line per call, so that a test can say what was called, and above all what was not. */
static void script_log(const char *function)
{
    char path[VALUE_BYTES];
    if (!script_value(path, "log"))
        return;
    FILE *file = fopen(path, "a");
    if (!file)
        return;
    fprintf(file, "%s\n", function);
    fclose(file);
}

static void script_flood(long long bytes)
{
    static const char line[] = "scripted driver: this line is repeated until the flood is over .........\n";
    while (bytes > 0) {
        size_t part = bytes < (long long)sizeof line - 1 ? (size_t)bytes : sizeof line - 1;
        ssize_t written = write(STDERR_FILENO, line, part);
        if (written < 0)
            return;
        bytes -= written;
    }
}

/* Do what the script says about this function (flood, then hang, then crash) and return its error code, 0 for
 * none. */
int script_fault(const char *function)
{
    char value[VALUE_BYTES];
    script_log(function);
    if (script_fault_value(value, "flood", function))
        script_flood(strtoll(value, NULL, 0));
    if (script_fault_value(value, "hang", function)) {
        long long seconds = strcmp(value, "forever") ? strtoll(value, NULL, 0) : 1000000;
        for (long long second = 0; second < seconds; second++)
            sleep(1);
    }
    if (script_fault_value(value, "crash", function))
        raise(!strcmp(value, "abort") ? SIGABRT : !strcmp(value, "kill") ? SIGKILL : SIGSEGV);
    return script_fault_value(value, "rc", function) ? (int)strtoll(value, NULL, 0) : 0;
}

/* gpu.N.rc.FUNCTION: an error of one card only, 0 for none. */
int script_card_fault(int card, const char *function)
{
    char kind[KEY_BYTES];
    char value[VALUE_BYTES];
    snprintf(kind, sizeof kind, "gpu.%d.rc", card);
    return script_fault_value(value, kind, function) ? (int)strtoll(value, NULL, 0) : 0;
}

int script_card_text(int card, const char *key, char *value)
{
    return script_value(value, "gpu.%d.%s", card, key);
}

/* 1 and the number when the script has gpu.CARD.KEY. */
int script_card_number(int card, const char *key, long long *number)
{
    char value[VALUE_BYTES];
    if (!script_card_text(card, key, value))
        return 0;
    *number = strtoll(value, NULL, 0);
    return 1;
}

int script_card_count(void)
{
    long long count = script_number("count", 1);
    return count < 0 ? 0 : count > SCRIPT_CARDS ? SCRIPT_CARDS : (int)count;
}

/* How many MIG instances a card has, 0 unless its MIG mode is on. */
int script_mig_instances(int card)
{
    long long mode = 0;
    long long instances = 0;
    script_card_number(card, "mig", &mode);
    script_card_number(card, "mig_instances", &instances);
    return mode ? (int)instances : 0;
}

void script_mig_uuid(int card, int instance, char *uuid)
{
    if (!script_value(uuid, "gpu.%d.mig.%d.uuid", card, instance))
        snprintf(uuid, VALUE_BYTES, "MIG-%08x-5555-6666-7777-%012x", card, instance);
}

long long script_mig_memory(int card, int instance)
{
    char value[VALUE_BYTES];
    long long total = 0;
    if (script_value(value, "gpu.%d.mig.%d.mem_total", card, instance))
        return strtoll(value, NULL, 0);
    script_card_number(card, "mem_total", &total);
    return total / 8;
}

void script_mig_name(int card, int instance, char *name)
{
    char model[VALUE_BYTES];
    char profile[VALUE_BYTES];
    if (!script_card_text(card, "name", model))
        snprintf(model, sizeof model, "Scripted GPU");
    if (!script_value(profile, "gpu.%d.mig.%d.profile", card, instance))
        snprintf(profile, sizeof profile, "1g.10gb");
    snprintf(name, VALUE_BYTES, "%.400s MIG %.60s", model, profile);
}

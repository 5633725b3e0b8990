/* Scripted libnvidia-ml.so.1: start and end, versions, enumeration, handles. See README.md for the script's
   keys. The functions that ask about one card are in nvml_device.c and nvml_state.c. */
#define _GNU_SOURCE
#include "script.h"
#include "nvml_types.h"

/* The two places where the real library holds its version; a reader of its bytes looks for the first. */
static const char nvml_version[] __attribute__((used)) = "12." DRIVER_VERSION;
static const char driver_version[] __attribute__((used)) = DRIVER_VERSION;

static int users;
static int lost[SCRIPT_CARDS];
static device_t cards[SCRIPT_CARDS];
static device_t instances[SCRIPT_CARDS][MIG_INSTANCES];

/* Say that no GPU is behind this library. */
API int gpudoctor_shim_is_scripted(void)
{
    return 1;
}

device_t *nvml_handle(int card, int instance)
{
    device_t *device = instance == WHOLE_CARD ? &cards[card] : &instances[card][instance];
    device->card = card;
    device->instance = instance;
    return device;
}

static int enter_library(const char *function)
{
    int fault = script_fault(function);
    if (fault)
        return fault;
    return users > 0 ? NVML_SUCCESS : NVML_UNINITIALIZED;
}

static int is_handle(const device_t *device)
{
    const char *address = (const char *)device;
    const char *first_card = (const char *)cards;
    const char *first_instance = (const char *)instances;
    return (address >= first_card && address < first_card + sizeof cards) ||
           (address >= first_instance && address < first_instance + sizeof instances);
}

int nvml_enter(const char *function, const device_t *device)
{
    char last_good[VALUE_BYTES];
    char base[KEY_BYTES];
    int rc = enter_library(function);
    if (rc)
        return rc;
    if (!is_handle(device))
        return NVML_INVALID_ARGUMENT;
    if (lost[device->card])
        return NVML_GPU_IS_LOST;
    script_base_name(function, base);
    if (script_card_text(device->card, "lost_after", last_good) &&
        (!strcmp(last_good, function) || !strcmp(last_good, base)))
        lost[device->card] = 1;
    return script_card_fault(device->card, function);
}

/* All three names of nvmlInit obey rc.nvmlInit, hang.nvmlInit and so on. */
static int initialise(const char *function)
{
    int fault = script_fault(function);
    if (!fault && strcmp(function, "nvmlInit_v2"))
        fault = script_fault("nvmlInit");
    if (!fault)
        users++;
    return fault;
}

API int nvmlInit_v2(void)
{
    return initialise(__func__);
}

API int nvmlInit(void)
{
    return initialise("nvmlInit_v2");
}

API int nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    return initialise(__func__);
}

API int nvmlShutdown(void)
{
    int rc = enter_library(__func__);
    if (!rc)
        users--;
    return rc;
}

API const char *nvmlErrorString(int code)
{
    static const char *const texts[] = {
        "Success",
        "Uninitialized",
        "Invalid Argument",
        "Not Supported",
        "Insufficient Permissions",
        "Already Initialized",
        "Not Found",
        "Insufficient Size",
        "Insufficient External Power",
        "Driver Not Loaded",
        "Timeout",
        "Interrupt Request Issue",
        "NVML Shared Library Not Found",
        "Function Not Found",
        "Corrupted infoROM",
        "GPU is lost",
        "GPU requires restart",
        "The operating system has blocked the request.",
        "Driver/library version mismatch",
        "In use by another client",
        "Insufficient Memory",
    };
    if (code >= 0 && code < (int)(sizeof texts / sizeof *texts))
        return texts[code];
    return "Unknown Error";
}

static int copy_text(const char *text, char *out, unsigned bytes)
{
    if (strlen(text) + 1 > bytes)
        return NVML_INSUFFICIENT_SIZE;
    strcpy(out, text);
    return NVML_SUCCESS;
}

API int nvmlSystemGetDriverVersion(char *out, unsigned bytes)
{
    char value[VALUE_BYTES];
    int rc = enter_library(__func__);
    if (rc)
        return rc;
    return copy_text(script_value(value, "driver") ? value : driver_version, out, bytes);
}

API int nvmlSystemGetNVMLVersion(char *out, unsigned bytes)
{
    char value[VALUE_BYTES];
    int rc = enter_library(__func__);
    if (rc)
        return rc;
    return copy_text(script_value(value, "nvml") ? value : nvml_version, out, bytes);
}

static int cuda_version(const char *function, int *version)
{
    int rc = enter_library(function);
    if (!rc)
        *version = (int)script_number("cuda", CUDA_VERSION);
    return rc;
}

API int nvmlSystemGetCudaDriverVersion(int *version)
{
    return cuda_version(__func__, version);
}

API int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    return cuda_version(__func__, version);
}

API int nvmlSystemGetProcessName(unsigned pid, char *out, unsigned bytes)
{
    char value[VALUE_BYTES];
    int rc = enter_library(__func__);
    if (rc)
        return rc;
    return script_value(value, "process.%u", pid) ? copy_text(value, out, bytes) : NVML_NOT_FOUND;
}

static int device_count(const char *function, unsigned *count)
{
    int rc = enter_library(function);
    if (!rc)
        *count = (unsigned)script_card_count();
    return rc;
}

API int nvmlDeviceGetCount(unsigned *count)
{
    return device_count(__func__, count);
}

API int nvmlDeviceGetCount_v2(unsigned *count)
{
    return device_count(__func__, count);
}

/* gpu.N.handle_rc: a card that is counted but gives no handle, as one that fell off the bus. */
static int hand_out(int card, device_t **device)
{
    long long code = 0;
    script_card_number(card, "handle_rc", &code);
    if (code)
        return (int)code;
    *device = nvml_handle(card, WHOLE_CARD);
    return NVML_SUCCESS;
}

static int handle_by_index(const char *function, unsigned index, device_t **device)
{
    int rc = enter_library(function);
    if (rc)
        return rc;
    if (index >= (unsigned)script_card_count())
        return NVML_INVALID_ARGUMENT;
    return hand_out((int)index, device);
}

API int nvmlDeviceGetHandleByIndex(unsigned index, device_t **device)
{
    return handle_by_index(__func__, index, device);
}

API int nvmlDeviceGetHandleByIndex_v2(unsigned index, device_t **device)
{
    return handle_by_index(__func__, index, device);
}

static int handle_by_text(const char *key, const char *wanted, device_t **device)
{
    char value[VALUE_BYTES];
    for (int card = 0; card < script_card_count(); card++) {
        if (script_card_text(card, key, value) && !strcmp(value, wanted))
            return hand_out(card, device);
    }
    return NVML_NOT_FOUND;
}

/* A MIG instance's UUID leads to the instance. */
API int nvmlDeviceGetHandleByUUID(const char *wanted, device_t **device)
{
    char uuid[VALUE_BYTES];
    int rc = enter_library(__func__);
    if (rc)
        return rc;
    for (int card = 0; card < script_card_count(); card++) {
        for (int instance = 0; instance < script_mig_instances(card) && instance < MIG_INSTANCES;
             instance++) {
            script_mig_uuid(card, instance, uuid);
            if (strcmp(uuid, wanted))
                continue;
            *device = nvml_handle(card, instance);
            return NVML_SUCCESS;
        }
    }
    return handle_by_text("uuid", wanted, device);
}

API int nvmlDeviceGetHandleBySerial(const char *wanted, device_t **device)
{
    int rc = enter_library(__func__);
    return rc ? rc : handle_by_text("serial", wanted, device);
}

static int handle_by_bus_id(const char *function, const char *wanted, device_t **device)
{
    char value[VALUE_BYTES];
    unsigned asked[3];
    unsigned have[3];
    int rc = enter_library(function);
    if (rc)
        return rc;
    if (sscanf(wanted, "%x:%x:%x", &asked[0], &asked[1], &asked[2]) != 3)
        return NVML_INVALID_ARGUMENT;
    for (int card = 0; card < script_card_count(); card++) {
        if (!script_card_text(card, "pci", value))
            continue;
        if (sscanf(value, "%x:%x:%x", &have[0], &have[1], &have[2]) == 3 && !memcmp(asked, have, sizeof have))
            return hand_out(card, device);
    }
    return NVML_NOT_FOUND;
}

API int nvmlDeviceGetHandleByPciBusId(const char *wanted, device_t **device)
{
    return handle_by_bus_id(__func__, wanted, device);
}

API int nvmlDeviceGetHandleByPciBusId_v2(const char *wanted, device_t **device)
{
    return handle_by_bus_id(__func__, wanted, device);
}
